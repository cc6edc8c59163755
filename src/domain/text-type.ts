/** Whether content of a MIME type is text, which models read as such. */
export function isTextType(mediaType: string): boolean {
  return mediaType.startsWith("text/") || /^application\/(.+\+)?(json|xml|yaml|x-yaml)$/.test(mediaType);
}
