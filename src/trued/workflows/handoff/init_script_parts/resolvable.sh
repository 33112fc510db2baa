resolvable() {
  node - <<'END'
const fs = require("fs"), path = require("path");
const wanted = JSON.parse(fs.readFileSync("package.json", "utf8"));
const optional = Object.keys(wanted.optionalDependencies || {});
const all = Object.keys({ ...wanted.dependencies, ...wanted.devDependencies });
const names = all.filter((name) => !optional.includes(name));
const places = [process.cwd(), path.dirname(process.cwd())].map((folder) => path.join(folder, "node_modules"));
const there = (name) => places.some((place) => fs.existsSync(path.join(place, name, "package.json")));
const missing = fs.existsSync(".pnp.cjs") ? [] : names.filter((name) => !there(name));
if (missing.length) {
  console.error(`init.sh: not installed: ${missing.join(", ")}`);
  process.exit(1);
}
console.log(`  Node ${process.version}, ${names.length} direct dependencies resolved`);
END
}
