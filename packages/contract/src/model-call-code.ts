import { lines, quoted, shellWord, singleQuoted } from './code-text.ts'
import type { ModelTool } from './model-code.ts'

/** What stands in the place of a picture of one's own, beside the program that sends it. */
const OWN_PICTURE = 'picture.png'

/** Up to where the paths of the protocol begin, and the model that is asked. */
interface Asked {
  url: string
  model: string
}

/** What pictures are asked by. What is null or empty is not said. */
export interface ImageFacts extends Asked {
  prompt: string
  negativePrompt?: string
  count?: number | null
  size?: string | null
  seed?: number | null
  /** Whether they are made after a picture, which then lies beside the program. */
  hasPicture?: boolean
}

/** What vectors are asked by. */
export interface EmbeddingFacts extends Asked {
  text: string
}

/** A call of one of OpenAI's clients, as it is written in each language. */
interface ClientCall {
  url: string
  path: string
  /** In the clients, such as `images.generate`. */
  method: string
  /** What the clients have arguments for. */
  fields: Readonly<Record<string, string | number>>
  /** What servers take beside them. */
  others?: Readonly<Record<string, string | number>>
  /** The field that is a file, which makes the call a form. */
  file?: string | null
  /** What stands before and after it; without it the language needs nothing. */
  before?: Partial<Record<ModelTool, readonly string[]>>
  after: Record<ModelTool, readonly string[]>
}

/** A call for pictures that keeps each in a file and says its name, as a command of a shell or a program (B11). */
export function imageCode(tool: ModelTool, facts: ImageFacts): string {
  const { url, model, prompt, negativePrompt = '', count = null, size = null, seed = null } = facts
  const hasPicture = facts.hasPicture === true
  return CODE[tool]({
    url,
    path: hasPicture ? '/images/edits' : '/images/generations',
    method: hasPicture ? 'images.edit' : 'images.generate',
    fields: { model, prompt, ...said({ n: count, size }), response_format: 'b64_json' },
    others: said({ negative_prompt: negativePrompt, seed }),
    file: hasPicture ? 'image' : null,
    before: {
      python: ['import base64', ''],
      javascript: [`import { ${hasPicture ? 'readFileSync, ' : ''}writeFileSync } from 'node:fs'`],
    },
    after: {
      curl: ['  -o images.json'],
      python: [
        'for number, image in enumerate(answer.data, start=1):',
        '    name = f"image-{number}.png"',
        '    with open(name, "wb") as file:',
        '        file.write(base64.b64decode(image.b64_json))',
        '    print(name)',
      ],
      javascript: [
        'for (const [index, image] of answer.data.entries()) {',
        "  const name = 'image-' + (index + 1) + '.png'",
        "  writeFileSync(name, Buffer.from(image.b64_json, 'base64'))",
        '  console.log(name)',
        '}',
      ],
    },
  })
}

/** A call for the vector of a text that prints it (B11). */
export function embeddingCode(tool: ModelTool, { url, model, text }: EmbeddingFacts): string {
  return CODE[tool]({
    url,
    path: '/embeddings',
    method: 'embeddings.create',
    fields: { model, input: text },
    after: {
      curl: [],
      python: ['print(answer.data[0].embedding)'],
      javascript: ['console.log(answer.data[0].embedding)'],
    },
  })
}

/** Those that say something. */
function said(fields: Readonly<Record<string, string | number | null>>): Record<string, string | number> {
  const all = Object.entries(fields).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(all) as Record<string, string | number>
}

const CODE: Record<ModelTool, (call: ClientCall) => string> = {
  curl: ({ url, path, fields, others = {}, file = null, after }) => {
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
      ...after.curl,
    ].join(' \\\n')
  },
  python: ({ url, method, fields, others = {}, file = null, before = {}, after }) =>
    lines(
      before.python ?? [],
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url=${quoted(url)})`,
      `answer = client.${method}(`,
      file === null ? [] : `    ${file}=open(${quoted(OWN_PICTURE)}, "rb"),`,
      Object.entries(fields).map(([name, value]) => `    ${name}=${JSON.stringify(value)},`),
      Object.keys(others).length === 0 ? [] : `    extra_body=${JSON.stringify(others)},`,
      ')',
      after.python,
    ),
  javascript: ({ url, method, fields, others = {}, file = null, before = {}, after }) =>
    lines(
      before.javascript ?? [],
      `import OpenAI${file === null ? '' : ', { toFile }'} from 'openai'`,
      '',
      `const client = new OpenAI({ baseURL: ${singleQuoted(url)} })`,
      `const answer = await client.${method}({`,
      file === null
        ? []
        : // Of a stream the client says no type, and a picture has one.
          `  ${file}: await toFile(readFileSync('${OWN_PICTURE}'), '${OWN_PICTURE}', { type: 'image/png' }),`,
      Object.entries({ ...fields, ...others }).map(
        ([name, value]) => `  ${name}: ${typeof value === 'string' ? singleQuoted(value) : value},`,
      ),
      '})',
      after.javascript,
    ),
}
