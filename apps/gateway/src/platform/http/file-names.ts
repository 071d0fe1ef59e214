/** The name that a file is saved under: for old programs in ASCII, for others as it is. */
export function dispositionOf(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}
