// Writes the copy of the contract that clients use: without options of buf.validate and google.api and without their imports, with
// the bounds in words in the comments. Reads the descriptors that buf made, so it runs after `buf build`.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createFileRegistry, fromBinary, getOption, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { boundsInWords } from "./bounds-in-words.mjs";

const root = resolve(import.meta.dirname, "..");
const out = process.argv[2] ?? root;
const target = join(out, "contract", "quire", "v1");
const source = join(root, "proto", "quire", "v1");
const descriptors = readFileSync(join(out, "src", "contract", "gen", "descriptors.binpb"));
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
const columns = 110;

/** The rules of a field or a oneof, as proto JSON. */
function rulesOf(of, name) {
  const extension = registry.getExtension(`buf.validate.${name}`);
  return extension && of.proto.options ? toJson(extension.message, getOption(of, extension)) : {};
}

function wordsFor(message, name) {
  const field = message.fields.find((entry) => entry.name === name);
  if (field) {
    const isOptional = field.proto.proto3Optional;
    return boundsInWords(rulesOf(field, "field"), field.enum, { isOptional });
  }
  const oneof = message.oneofs.find((entry) => entry.name === name);
  return oneof && rulesOf(oneof, "oneof").required ? "Exactly one must be set." : undefined;
}

/** Where the options of a field end: behind the bracket that closes the first one. */
function closing(text, from) {
  let depth = 0;
  let inText = false;
  for (let at = from; at < text.length; at++) {
    if (inText) {
      if (text[at] === "\\") at++;
      else if (text[at] === '"') inText = false;
    } else if (text[at] === '"') inText = true;
    else if (text[at] === "[" || text[at] === "{") depth++;
    else if ((text[at] === "]" || text[at] === "}") && --depth === 0) return at;
  }
  throw new Error("options without an end");
}

/** The options of a field between its brackets, one by one. */
function optionsIn(text) {
  const options = [];
  let start = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if ("[{".includes(text[at])) depth++;
    else if ("]}".includes(text[at])) depth--;
    else if (text[at] === "," && depth === 0) {
      options.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...options, text.slice(start)].map((option) => option.trim()).filter(Boolean);
}

const isForServer = (option) => /^\((buf\.validate|google\.api)\./.test(option);

/** The text without what buf.validate and google.api say in it. */
function withoutRules(text) {
  let plain = text
    .replace(/^import "(buf\/validate|google\/api)\/.*\n/gm, "")
    .replace(/^ *option \(buf\.validate\.[^;]*;\n\n?/gm, "");
  const options = / \[\s*\((buf\.validate|google\.api)\./;
  for (let at = plain.search(options); at >= 0; at = plain.search(options)) {
    const end = closing(plain, at + 1);
    const kept = optionsIn(plain.slice(at + 2, end)).filter((option) => !isForServer(option));
    plain = plain.slice(0, at) + (kept.length > 0 ? ` [${kept.join(", ")}]` : "") + plain.slice(end + 1);
  }
  if (/buf.validate|google.api/.test(plain))
    throw new Error("something of buf.validate or google.api is left: write it as the other fields do");
  // A file that imported nothing else.
  return plain.replace(/^(package [^\n]*\n)\n{2,}/m, "$1\n");
}

function wrapped(indent, text) {
  const lines = [];
  let line = `${indent}//`;
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > columns) {
      lines.push(line);
      line = `${indent}//`;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

/** The text with the bounds behind the comment of each field. */
function withBounds(text) {
  const lines = [];
  const messages = [];
  for (const line of text.split("\n")) {
    const opened = /^\s*(message|oneof|enum|service) (\w+) \{/.exec(line);
    const field = /^\s*(?:optional |repeated )?(?:map<[^>]*>|[\w.]+) (\w+) = \d+/.exec(line);
    const message = messages.findLast(({ kind }) => kind === "message");
    const name = opened?.[1] === "oneof" ? opened[2] : field?.[1];
    const isInEnum = messages.at(-1)?.kind === "enum";
    const words = message && name && !isInEnum ? wordsFor(message.descriptor, name) : undefined;
    if (words) lines.push(...wrapped(/^\s*/.exec(line)[0], words));
    lines.push(line);
    if (opened && !line.trimEnd().endsWith("}")) {
      const [, kind, own] = opened;
      const typeName = [
        ...messages.filter((entry) => entry.kind === "message").map((entry) => entry.name),
        own,
      ];
      const descriptor =
        kind === "message" ? registry.getMessage(`quire.v1.${typeName.join(".")}`) : undefined;
      messages.push({ kind, name: own, descriptor });
    } else if (/^\s*\}/.test(line)) messages.pop();
  }
  return lines.join("\n");
}

rmSync(join(out, "contract"), { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const name of readdirSync(source)) {
  const text = readFileSync(join(source, name), "utf8");
  const header = "// Written by scripts/contract.mjs from proto/, with the bounds in words. Do not edit.\n\n";
  writeFileSync(join(target, name), header + withBounds(withoutRules(text)));
}
