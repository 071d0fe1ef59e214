import { lines, quoted, shellWord, singleQuoted } from './code-text.ts'

/** A picture of one's own, which lies beside the program that sends it. */
export interface CallFile {
  field: string
  /** Of the file, such as `picture.png`. */
  name: string
  /** Whether the client in Python has an argument for it. */
  isKnown: boolean
}

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
  /** What makes the call a form. Where the client in Python does not know one of them, `type` is needed. */
  files?: readonly CallFile[]
  /** What its answer is called in the program. */
  answer?: string
  /** What the client in Python calls its type. */
  type?: string
}

/** Those that say something. */
export function said(
  fields: Readonly<Record<string, string | number | null>>,
): Record<string, string | number> {
  const all = Object.entries(fields).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(all) as Record<string, string | number>
}

/** A command, an argument a line. @param more Further arguments. */
export function curlCall({ url, path, fields, others = {}, files = [] }: ClientCall, more: string[]): string {
  const all = { ...fields, ...others }
  const content =
    files.length === 0
      ? ["  -H 'Content-Type: application/json'", `  -d ${shellWord(JSON.stringify(all, null, 2))}`]
      : [
          // `-F` would read a text that begins with an at sign as a file.
          ...Object.entries(all).map(([name, value]) => `  --form-string ${shellWord(`${name}=${value}`)}`),
          ...files.map(({ field, name }) => `  -F ${shellWord(`${field}=@${name}`)}`),
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
  const { url, path, method, fields, others = {}, files = [], answer = 'answer', type } = call
  const opened = (name: string) => `open(${quoted(name)}, "rb")`
  const body = [
    `${answer} = client.${method}(`,
    files.map(({ field, name }) => `    ${field}=${opened(name)},`),
    Object.entries(fields).map(([name, value]) => `    ${name}=${JSON.stringify(value)},`),
    Object.keys(others).length === 0 ? [] : `    extra_body=${JSON.stringify(others)},`,
  ].flat()
  // Beside a method's own arguments no file is sent: the client's way for what it does not know takes any.
  const ofAny = [
    `${answer} = client.post(`,
    `    ${quoted(path)},`,
    `    cast_to=${type},`,
    '    body={',
    ...Object.entries({ ...fields, ...others }).map(
      ([name, value]) => `        ${quoted(name)}: ${JSON.stringify(value)},`,
    ),
    '    },',
    '    files=[',
    ...files.map(({ field, name }) => `        (${quoted(field)}, ${opened(name)}),`),
    '    ],',
    '    options={"headers": {"Content-Type": "multipart/form-data"}},',
  ]
  const isKnown = files.every(file => file.isKnown)
  return lines(
    'from openai import OpenAI',
    isKnown ? [] : `from openai.types import ${type}`,
    '',
    `client = OpenAI(base_url=${quoted(url)})`,
    isKnown ? body : ofAny,
    ')',
  )
}

/** A client and its call in JavaScript. @param changes Whether what it answers is looked at again. */
export function javascriptCall(call: ClientCall, changes = false): string {
  const { url, method, fields, others = {}, files = [], answer = 'answer' } = call
  return lines(
    `import OpenAI${files.length === 0 ? '' : ', { toFile }'} from 'openai'`,
    '',
    `const client = new OpenAI({ baseURL: ${singleQuoted(url)} })`,
    `${changes ? 'let' : 'const'} ${answer} = await client.${method}({`,
    // Of a stream the client says no type, and a picture has one.
    files.map(
      ({ field, name }) =>
        `  ${field}: await toFile(readFileSync('${name}'), '${name}', { type: 'image/png' }),`,
    ),
    Object.entries({ ...fields, ...others }).map(
      ([name, value]) => `  ${name}: ${typeof value === 'string' ? singleQuoted(value) : value},`,
    ),
    '})',
  )
}

/** What a program in JavaScript imports to keep files, and to read one where it sends one. */
export function javascriptFiles({ files = [] }: Pick<ClientCall, 'files'>): string {
  return `import { ${files.length === 0 ? '' : 'readFileSync, '}writeFileSync } from 'node:fs'`
}
