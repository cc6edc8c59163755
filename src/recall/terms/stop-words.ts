/** Words that are in every text, and say nothing about any. */
export const stopWords: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are aren as at be because been before being but by can cannot could couldn did didn do does doesn doing don down each few for from further get got had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll let like me might more most must my myself no nor not now of off on once only or other our ours ourselves out over own re really s same shall she should shouldn so some such t than that the their theirs them themselves then there these they this those through to too under until up us ve very was wasn we were weren what when where which while who whom why will with won would wouldn yes you your yours yourself yourselves d m`.split(
    " ",
  ),
);
