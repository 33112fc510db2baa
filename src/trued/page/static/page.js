import "./live.js"; // keeps the page in step with the journal
import "./act.js"; // sends what a person decides
import "./notify.js"; // notifies a person who looks at another tab
