import { seeded } from "../../measure.js";
import type { Collection, Saying, Wanted } from "../collection.js";

interface Language {
  readonly name: string;
  readonly people: readonly string[];
  readonly places: readonly string[];
  readonly things: readonly string[];
  /** What was said, and how it is asked for: with other words around the same ones. */
  say(person: string, place: string, thing: string, price: number): string;
  ask(person: string, place: string, thing: string): readonly string[];
}

const chinese: Language = {
  name: "Chinese",
  people: "王小明 李建国 张丽华 陈美玲 刘志强 赵雅芝 黄晓东 周文静 吴海燕 徐立新".split(" "),
  places: "北京 上海火车站 广州塔 杭州西湖 成都机场 西安古城 南京大学 青岛海边".split(" "),
  things: "青花瓷茶壶 无线耳机 羊毛围巾 机械键盘 登山背包 电动自行车 咖啡机 数码相机 雨伞 中文词典".split(
    " ",
  ),
  say: (person, place, thing, price) =>
    `昨天${person}在${place}买了一个${thing}，一共花了${price}元，他说很满意。`,
  ask: (person, place, thing) => [
    `${person}买的${thing}多少钱？`,
    `谁在${place}买过${thing}？是${person}吗？`,
    `${thing} ${person}`,
  ],
};

const japanese: Language = {
  name: "Japanese",
  people: "佐藤 鈴木 高橋 田中 渡辺 伊藤 山本 中村 小林 加藤".split(" "),
  places: "東京駅 大阪城 京都の寺 札幌市 福岡空港 名古屋港 金沢 横浜中華街".split(" "),
  things:
    "コーヒーメーカー 折りたたみ傘 電子辞書 ワイヤレスイヤホン 登山靴 抹茶茶碗 自転車 デジタルカメラ 革の財布 万年筆".split(
      " ",
    ),
  say: (person, place, thing, price) =>
    `昨日、${person}さんは${place}で${thing}を買いました。値段は${price}円でした。`,
  ask: (person, place, thing) => [
    `${person}さんが買った${thing}はいくらでしたか？`,
    `${place}で${thing}を買ったのは${person}さんですか？`,
    `${thing} ${person}`,
  ],
};

const texts = 400;
const hourMs = 3_600_000;
const begunMs = Date.UTC(2026, 1, 2);

/** Texts without spaces between words: person, place and thing are each in dozens of others. */
export function cjkCollections(): Collection[] {
  return [chinese, japanese].map(collectionOf);
}

function collectionOf({ name, people, places, things, say, ask }: Language): Collection {
  const random = seeded(name.length * 7_919);
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!;
  const sayings: Saying[] = [];
  const said = new Map<string, { ids: string[]; questions: readonly string[] }>();
  for (let at = 0; at < texts; at++) {
    const [person, place, thing] = [pick(people), pick(places), pick(things)];
    const id = String(at);
    sayings.push({ id, text: say(person, place, thing, 100 + at), timeMs: begunMs + at * 8 * hourMs });
    const about = said.get(`${person} ${thing}`) ?? { ids: [], questions: ask(person, place, thing) };
    about.ids.push(id);
    said.set(`${person} ${thing}`, about);
  }
  const wanted = [...said.values()].flatMap(({ ids, questions }): Wanted[] =>
    questions.map((query) => ({ query, evidence: ids })),
  );
  return { agent: name, sessions: [sayings], wanted, askedMs: begunMs + texts * 9 * hourMs };
}
