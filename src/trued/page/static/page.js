// Everything that the page's script does: stay live, and send what a person decides.
import "./live.js";
import "./act.js";
