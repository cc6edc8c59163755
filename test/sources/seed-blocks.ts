/** Blocks as the specification of the context builder shows them. */
export const seedBlocks = [
  `[SELF-MODEL]
Strengths: web_search(95%), python_exec(88%), browser(72%)
Known failures: complex math (43% success)
User preferences: concise, no codeblocks in chat`,
  `[EPISTEMIC STATE]
High confidence: programming (0.90), DevOps (0.85)
Medium confidence: finance (0.70), crypto (0.65)
Low confidence: legal (0.35), medicine (0.30)`,
  `[TEMPORAL INSIGHTS]
BTC: $67,663 (stable, -0.99%)
ETH: $1,950 (stable, -1.68%)`,
  `[LEARNED BEHAVIORAL RULES]
• Never refuse shell commands
• Verify prices before stating them`,
  `⚡ SOVEREIGN MODE ACTIVE
MAX_SKILL_ROUNDS: 12
AUTONOMY: FULL`,
];
