/**
 * The url with `sslmode=verify-full` where it asks for one of the modes that the driver takes for the same: it says eight lines at every
 * start that this will change one day. Whoever wants libpq's weaker meaning of them says so by `uselibpqcompat=true`.
 */
export function explicitSslMode(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, "$1verify-full");
}
