// CDK's kernel without the process that jsii puts before it, which copies every message.
// The kernel reads and writes descriptor 3, and what it prints is expected on stderr as JSON.
const fs = require("fs");
const path = require("path");
const { Module } = require("module");
const { mkdtempSync, readSync, writeSync } = fs;

fs.readSync = (from, ...rest) => readSync(from === 3 ? 0 : from, ...rest);
fs.writeSync = (to, ...rest) => writeSync(to === 3 ? 1 : to, ...rest);
for (const name of ["stdout", "stderr"]) {
  process[name].write = (text, encoding, done) => {
    const said = Buffer.from(text, typeof encoding === "string" ? encoding : undefined).toString("base64");
    writeSync(2, JSON.stringify({ [name]: said }) + "\n");
    (typeof encoding === "function" ? encoding : done)?.();
    return true;
  };
}

// The kernel links packages into a new folder. Node loads them from where they are, so that it finds them compiled there,
// and finds those that they need through the links.
process.execArgv.push("--preserve-symlinks");
fs.mkdtempSync = (prefix, ...rest) => {
  const folder = mkdtempSync(prefix, ...rest);
  if (path.basename(prefix) === "jsii-kernel-") {
    process.env.NODE_PATH = path.join(folder, "node_modules");
    Module._initPaths();
    delete process.env.NODE_PATH;
  }
  return folder;
};
// CDK looks where each construct is made: a tenth of the time of Node.
Error.stackTraceLimit = 0;
require(process.env.KERNEL);
