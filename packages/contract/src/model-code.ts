import { lines, quoted, shellWord, singleQuoted } from './code-text.ts'

/** What a call of a model is shown for; each with what customers run (B11). */
export const MODEL_TOOLS = ['curl', 'python', 'javascript'] as const
export type ModelTool = (typeof MODEL_TOOLS)[number]

/** What somebody says in a chat, in the words of OpenAI's protocol. */
export interface CodeMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

/** All that a client must know besides its key, which it reads from the environment as `OPENAI_API_KEY`. */
export interface ModelFacts {
  /** Up to where the paths of the protocol begin. */
  url: string
  model: string
  /** What is said; left out: a greeting. */
  messages?: readonly CodeMessage[]
  /** How it is to answer, by the names of the protocol and its kin. */
  parameters?: Readonly<Record<string, number>>
}

/** What is said where nobody has said anything. */
export const GREETING = 'Hello!'
/** What OpenAI's own clients have an argument for; what else there is, servers take beside it. */
const KNOWN_PARAMETERS: readonly string[] = [
  'max_tokens',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
]

/**
 * A chat with a model that prints its answer, as a command of a shell or a program. Whatever is said in it stands there
 * as a text, and is nothing else to the shell or the language.
 */
export function modelCode(tool: ModelTool, facts: ModelFacts): string {
  return CODE[tool]({ messages: [{ role: 'user', content: GREETING }], parameters: {}, ...facts })
}

const CODE: Record<ModelTool, (facts: Required<ModelFacts>) => string> = {
  curl: ({ url, model, messages, parameters }) =>
    lines(
      `curl ${url}/chat/completions \\`,
      '  -H "Authorization: Bearer $OPENAI_API_KEY" \\',
      "  -H 'Content-Type: application/json' \\",
      `  -d ${shellWord(JSON.stringify({ model, messages, ...parameters }, null, 2))}`,
    ),
  python: ({ url, model, messages, parameters }) => {
    const all = Object.entries(parameters)
    const others = all.filter(([name]) => !KNOWN_PARAMETERS.includes(name))
    return lines(
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url=${quoted(url)})`,
      'answer = client.chat.completions.create(',
      `    model=${quoted(model)},`,
      '    messages=[',
      messages.map(
        ({ role, content }) => `        {"role": ${quoted(role)}, "content": ${quoted(content)}},`,
      ),
      '    ],',
      all.filter(one => !others.includes(one)).map(([name, value]) => `    ${name}=${value},`),
      others.length === 0 ? [] : `    extra_body=${JSON.stringify(Object.fromEntries(others))},`,
      ')',
      'print(answer.choices[0].message.content)',
    )
  },
  javascript: ({ url, model, messages, parameters }) =>
    lines(
      "import OpenAI from 'openai'",
      '',
      `const client = new OpenAI({ baseURL: ${singleQuoted(url)} })`,
      'const answer = await client.chat.completions.create({',
      `  model: ${singleQuoted(model)},`,
      '  messages: [',
      messages.map(
        ({ role, content }) => `    { role: ${singleQuoted(role)}, content: ${singleQuoted(content)} },`,
      ),
      '  ],',
      Object.entries(parameters).map(([name, value]) => `  ${name}: ${value},`),
      '})',
      'console.log(answer.choices[0].message.content)',
    ),
}
