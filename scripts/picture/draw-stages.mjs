/** What each class looks like, on light and on dark ground. */
const colours = {
  ground: { fill: ["#ffffff", "#0d1117"], stroke: ["#d0d7de", "#30363d"] },
  group: { fill: ["#f6f8fa", "#151b23"], stroke: ["#d0d7de", "#30363d"] },
  stage: { fill: ["#ffffff", "#212830"], stroke: ["#8c959f", "#656c76"] },
  name: { fill: ["#1f2328", "#f0f6fc"] },
  text: { fill: ["#424a53", "#c9d1d9"] },
  faint: { fill: ["#656d76", "#9198a1"] },
  flow: { line: ["#8c959f", "#656c76"] },
  read: { fill: ["#ddf4ff", "#102a4c"], stroke: ["#54aeff", "#1f6feb"], line: ["#54aeff", "#388bfd"] },
  "read-text": { fill: ["#0550ae", "#a5d6ff"] },
  write: { fill: ["#fff1e5", "#3d1f0a"], stroke: ["#e16f24", "#bd561d"], line: ["#e16f24", "#db6d28"] },
  "write-text": { fill: ["#953800", "#ffc680"] },
  event: { fill: ["#dafbe1", "#0f3220"], stroke: ["#4ac26b", "#238636"], line: ["#4ac26b", "#2ea043"] },
  "event-text": { fill: ["#116329", "#7ee787"] },
  trial: { line: ["#8250df", "#a371f7"] },
  "trial-text": { fill: ["#6639ba", "#d2a8ff"] },
};

const width = 1000;
const margin = 28;
const sourcesRight = 312;
const stagesLeft = 352;
const stagesRight = 712;
const eventsLeft = 758;
const eventsWidth = 134;
const top = 106;
/** Between the edges of a group and its steps. */
const inset = 12;
const lineHeight = 18;
const gap = 16;
const stepGap = 12;
const groupHead = 30;
const chip = { height: 22, gap: 6, perLetter: 6.3, padding: 18 };
const event = { height: 24, note: 18, gap: 4 };
const sans = "-apple-system,'Segoe UI','Noto Sans',Helvetica,Arial,'Liberation Sans',sans-serif";
const mono = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace";

/** A picture of stages from top to bottom: on the left what they read and write, on the right what the stream gets. */
export function drawStages(stages) {
  const { boxes, bottom } = layOut(stages);
  const height = bottom + 64;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">How a context is made</title>`,
    `<desc id="desc">${escaped(inWords(stages))}</desc>`,
    `<style>${styles()}</style>`,
    rect("ground", 0.5, 0.5, width - 1, height - 1, 12),
    ...headings(),
    ...stream(boxes, bottom),
    ...boxes.flatMap((box) => (box.steps ? drawGroup(box) : drawStage(box))),
    ...boxes.flatMap((box) =>
      box.follows ? arrow("flow", middleOf(box), box.follows, middleOf(box), box.y) : [],
    ),
    ...boxes.flatMap((box) => drawTrial(box, boxes)),
    ...legend(height - 26),
    "</svg>",
  ].join("\n")}\n`;
}

/** Stages, groups and the steps in them, with their places; `follows` is where the one before ends. */
function layOut(stages) {
  const boxes = [];
  let y = top;
  let follows;
  const place = (stage, left, right) => {
    const height = stage.also ? 28 + 2 * lineHeight : 28 + lineHeight;
    const room = Math.max(height, sourcesHeight(stage), eventsHeight(stage));
    const box = { ...stage, left, right, height, y: y + (room - height) / 2, follows };
    boxes.push(box);
    y += room;
    follows = box.y + height;
  };
  for (const stage of stages) {
    if (stage.steps) {
      const group = { ...stage, left: stagesLeft, right: stagesRight, y, follows };
      boxes.push(group);
      y += groupHead;
      follows = undefined;
      for (const step of stage.steps) {
        place(step, stagesLeft + inset, stagesRight - inset);
        y += stepGap;
      }
      group.height = y - group.y;
      follows = y;
    } else place(stage, stagesLeft, stagesRight);
    y += gap;
  }
  return { boxes, bottom: y - gap };
}

const sourcesHeight = ({ reads = [], writes = [] }) =>
  (reads.length + writes.length) * (chip.height + chip.gap) - chip.gap;
const eventsHeight = ({ events = [] }) => events.length * (event.height + event.note + event.gap) - event.gap;
const middleOf = ({ left, right }) => (left + right) / 2;

function drawGroup({ left, right, y, height, name, does }) {
  return [
    rect("group", left, y, right - left, height, 8),
    text("name bold", left + inset, y + 20, name),
    text("faint", left + inset + 14 + name.length * 7.6, y + 20, does),
  ];
}

function drawStage(box) {
  const { left, right, y, height, name, file, does, also } = box;
  return [
    rect("stage", left, y, right - left, height, 6),
    text("name bold", left + inset, y + 19, name),
    text("faint code end", right - inset, y + 19, file),
    ...[does, also].flatMap((line, index) =>
      line ? text("text", left + inset, y + 37 + index * lineHeight, line) : [],
    ),
    ...drawSources(box),
    ...drawEvents(box),
  ];
}

/** What is read points to the stage, and the stage points to what is written. */
function drawSources({ left, y, height, reads = [], writes = [] }) {
  const first = y + (height - sourcesHeight({ reads, writes })) / 2;
  const lines = [...reads.map((names) => ["read", names]), ...writes.map((names) => ["write", names])];
  return lines.flatMap(([kind, names], index) => {
    const lineY = first + index * (chip.height + chip.gap);
    const middle = lineY + chip.height / 2;
    const atStage = within(middle, y + 9, y + height - 9);
    let x = sourcesRight + chip.gap;
    const chips = names.toReversed().flatMap((name) => {
      const chipWidth = name.length * chip.perLetter + chip.padding;
      x -= chipWidth + chip.gap;
      return [
        rect(kind, x, lineY, chipWidth, chip.height, 11),
        text(`${kind}-text middle`, x + chipWidth / 2, lineY + 15, name),
      ];
    });
    const isRead = kind === "read";
    const [from, to] = [
      [sourcesRight + 2, middle],
      [left - 1, atStage],
    ];
    return [...chips, ...(isRead ? arrow(kind, ...from, ...to) : arrow(kind, ...to, ...from))];
  });
}

function drawEvents({ right, y, height, events = [] }) {
  const first = y + (height - eventsHeight({ events })) / 2;
  return events.flatMap(({ kind, wire = kind, says, isOptional }, index) => {
    const eventY = first + index * (event.height + event.note + event.gap);
    const middle = eventY + event.height / 2;
    return [
      ...arrow("event", right + 1, within(middle, y + 9, y + height - 9), eventsLeft - 1, middle),
      rect(isOptional ? "event dashed" : "event", eventsLeft, eventY, eventsWidth, event.height, 12),
      text("event-text code middle", eventsLeft + eventsWidth / 2, eventY + 16, wire),
      text("faint tiny", eventsLeft + 26, eventY + event.height + 13, says),
    ];
  });
}

/** The line on which events come one after the other. */
function stream(boxes, bottom) {
  const x = eventsLeft + 16;
  const first = boxes.find(({ events }) => events);
  return arrow("event", x, first.y + first.height / 2, x, bottom + 4);
}

/** What a trial made is handed on to the stages that would make it otherwise. */
function drawTrial({ handsOnTo = [], left, y, height }, boxes) {
  const x = stagesLeft - 17;
  const from = y + height - 9;
  const ends = handsOnTo.map((name) => {
    const box = boxes.find((entry) => entry.name === name);
    return box.y + (box.steps ? groupHead / 2 : box.height / 2);
  });
  if (ends.length === 0) return [];
  return [
    path("trial-line dashed", `M${left - 1} ${from}H${x}V${ends.at(-1)}`),
    ...ends.flatMap((end) => arrow("trial", x, end, stagesLeft - 1, end)),
    text("trial-text end", x - 10, ends[0] - 3, "if the old prompt stays, these are used:"),
    text("trial-text end", x - 10, ends[0] + 13, "nothing is made twice"),
  ];
}

function headings() {
  return [
    text("name title", margin, 42, "How a context is made"),
    text("faint", margin, 62, "One call of Assemble, from top to bottom"),
    text("faint end", sourcesRight, top - 18, "reads and writes"),
    text("faint", stagesLeft, top - 18, "src/assembly/assemble.ts calls, in this order"),
    text("faint", eventsLeft, top - 18, "events on the stream, each of them final"),
  ];
}

function legend(y) {
  const entries = [
    ["read", "is read or asked"],
    ["write", "is written, except in a dry run"],
    ["event", "is an event of Assemble; BuildContext returns the whole context at once"],
  ];
  let x = margin;
  return entries.flatMap(([kind, says]) => {
    const at = x;
    x += 58 + says.length * 5.7;
    return [rect(kind, at, y - 11, 22, 14, 7), text("faint", at + 30, y, says)];
  });
}

function inWords(stages) {
  const named = stages.map(({ name, steps }) =>
    steps ? `${name} (${steps.map((step) => step.name).join(", ")})` : name,
  );
  return `The stages of an assembly in order: ${named.join(", ")}.`;
}

function styles() {
  const rules = (scheme) =>
    Object.entries(colours)
      .map(([name, { fill, stroke, line }]) =>
        [
          fill && `.${name}{fill:${fill[scheme]}${stroke ? `;stroke:${stroke[scheme]}` : ""}}`,
          line && `.${name}-line{fill:none;stroke:${line[scheme]}}.${name}-tip{fill:${line[scheme]}}`,
        ]
          .filter(Boolean)
          .join("\n"),
      )
      .join("\n");
  return `
text{font:12.5px ${sans}}
.title{font-size:20px;font-weight:600}
.bold{font-size:14px;font-weight:600}
.tiny{font-size:11.5px}
.code{font:11.5px ${mono}}
.end{text-anchor:end}
.middle{text-anchor:middle}
path{stroke-width:1.4}
.dashed{stroke-dasharray:4 3}
${rules(0)}
@media(prefers-color-scheme:dark){
${rules(1)}
}
`;
}

function rect(kind, x, y, rectWidth, height, radius) {
  return `<rect class="${kind}" x="${round(x)}" y="${round(y)}" width="${round(rectWidth)}" height="${round(height)}" rx="${radius}"/>`;
}

function text(kind, x, y, says) {
  return `<text class="${kind}" x="${round(x)}" y="${round(y)}">${escaped(says)}</text>`;
}

function path(kind, d) {
  return `<path class="${kind}" d="${d}"/>`;
}

const tipLength = 7;

/** A line with a tip at its end: straight down, or from one side to the other. */
function arrow(kind, x1, y1, x2, y2) {
  const [fromX, fromY, toX, toY] = [x1, y1, x2, y2].map(round);
  if (fromX === toX)
    return [
      path(`${kind}-line`, `M${fromX} ${fromY}V${round(toY - tipLength)}`),
      path(`${kind}-tip`, `M${toX} ${toY}l-4 -${tipLength}h8z`),
    ];
  const back = toX > fromX ? -tipLength : tipLength;
  const end = round(toX + back);
  const bend = round((fromX + end) / 2);
  return [
    path(`${kind}-line`, `M${fromX} ${fromY}C${bend} ${fromY} ${bend} ${toY} ${end} ${toY}`),
    path(`${kind}-tip`, `M${toX} ${toY}l${back} -4v8z`),
  ];
}

function within(value, least, most) {
  return Math.min(most, Math.max(least, value));
}

function round(value) {
  return Math.round(value * 10) / 10;
}

function escaped(says) {
  return says.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
