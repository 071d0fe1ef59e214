/** A browser may read what it saves a moment after it was told to. */
const KEPT_MS = 10_000

/**
 * Has the browser save a text as a file.
 * @param name The file's name; what no file may be called is replaced.
 * @param type Its media type.
 */
export function saveText(name: string, text: string, type = 'text/plain'): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }))
  const link = document.createElement('a')
  link.href = address
  link.download = name.replace(/[^\w.-]+/g, '_')
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS)
}
