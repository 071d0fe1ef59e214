/** Lines of a program under each other. */
export const lines = (...all: (string | readonly string[])[]) => all.flat().join('\n')

/** A text as JSON, Python and JavaScript all read it. */
export const quoted = (text: string) => JSON.stringify(text)

/** A text as JavaScript is written here. */
export const singleQuoted = (text: string) =>
  `'${quoted(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

/** A word of a shell, in which nothing means anything. */
export const shellWord = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
