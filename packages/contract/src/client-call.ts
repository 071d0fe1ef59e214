import { lines, quoted, shellWord, singleQuoted } from './code-text.ts'

/** What stands in the place of a picture of one's own, beside the program that sends it. */
const OWN_PICTURE = 'picture.png'

type Fields = Readonly<Record<string, string | number>>

/** A call of one of OpenAI's clients. */
export interface ClientCall {
  url: string
  path: string
  /** In the clients, such as `images.generate`. */
  method: string
  /** What the clients have arguments for. */
  fields: Fields
  /** What servers take beside them. */
  others?: Fields
  /** The field that is a file, which makes the call a form; null for none. */
  file?: string | null
  /** What its answer is called in the program. */
  answer?: string
}

/** Those that say something. */
export function said(
  fields: Readonly<Record<string, string | number | null>>,
): Record<string, string | number> {
  const all = Object.entries(fields).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(all) as Record<string, string | number>
}

/** A command, an argument a line. @param more Further arguments. */
export function curlCall(
  { url, path, fields, others = {}, file = null }: ClientCall,
  more: string[],
): string {
  const all = { ...fields, ...others }
  const content =
    file === null
      ? ["  -H 'Content-Type: application/json'", `  -d ${shellWord(JSON.stringify(all, null, 2))}`]
      : [
          // `-F` would read a text that begins with an at sign as a file.
          ...Object.entries(all).map(([name, value]) => `  --form-string ${shellWord(`${name}=${value}`)}`),
          `  -F ${shellWord(`${file}=@${OWN_PICTURE}`)}`,
        ]
  return [
    `curl ${url}${path}`,
    '  -H "Authorization: Bearer $OPENAI_API_KEY"',
    ...content,
    ...more.map(argument => `  ${argument}`),
  ].join(' \\\n')
}

/** A client and its call in Python; what it needs is imported before. */
export function pythonCall(call: ClientCall): string {
  const { url, method, fields, others = {}, file = null, answer = 'answer' } = call
  return lines(
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url=${quoted(url)})`,
    `${answer} = client.${method}(`,
    file === null ? [] : `    ${file}=open(${quoted(OWN_PICTURE)}, "rb"),`,
    Object.entries(fields).map(([name, value]) => `    ${name}=${JSON.stringify(value)},`),
    Object.keys(others).length === 0 ? [] : `    extra_body=${JSON.stringify(others)},`,
    ')',
  )
}

/** A client and its call in JavaScript. @param changes Whether what it answers is looked at again. */
export function javascriptCall(call: ClientCall, changes = false): string {
  const { url, method, fields, others = {}, file = null, answer = 'answer' } = call
  return lines(
    `import OpenAI${file === null ? '' : ', { toFile }'} from 'openai'`,
    '',
    `const client = new OpenAI({ baseURL: ${singleQuoted(url)} })`,
    `${changes ? 'let' : 'const'} ${answer} = await client.${method}({`,
    file === null
      ? []
      : // Of a stream the client says no type, and a picture has one.
        `  ${file}: await toFile(readFileSync('${OWN_PICTURE}'), '${OWN_PICTURE}', { type: 'image/png' }),`,
    Object.entries({ ...fields, ...others }).map(
      ([name, value]) => `  ${name}: ${typeof value === 'string' ? singleQuoted(value) : value},`,
    ),
    '})',
  )
}

/** What a program in JavaScript imports to keep files, and to read one where it sends one. */
export function javascriptFiles({ file = null }: Pick<ClientCall, 'file'>): string {
  return `import { ${file === null ? '' : 'readFileSync, '}writeFileSync } from 'node:fs'`
}
