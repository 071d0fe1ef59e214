/**
 * Reads the first JSON object of a text, whatever comes after it.
 * @param text An object, and perhaps more.
 * @throws SyntaxError when it does not begin with an object.
 */
export function firstJsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const end = endOfObject(text)
    if (end === null) throw error
    return JSON.parse(text.slice(0, end))
  }
}

/** Where the object that the text begins with ends; null when it does not. */
function endOfObject(text: string): number | null {
  let depth = 0
  // A string is taken as a whole, so that a brace in it is not counted.
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') depth += 1
    if (token === '}') depth -= 1
    if (depth === 0) return token === '}' ? index + 1 : null
  }
  return null
}
