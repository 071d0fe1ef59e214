/** What a call of a model is shown for; each with what customers run (B11). */
export const MODEL_TOOLS = ['curl', 'python', 'javascript'] as const
export type ModelTool = (typeof MODEL_TOOLS)[number]

/** All that a client must know besides its key, which it reads from the environment as `OPENAI_API_KEY`. */
export interface ModelFacts {
  /** Up to where the paths of the protocol begin. */
  url: string
  model: string
}

const QUESTION = 'Hello!'

/** A chat with a model that prints its answer, as a command of a shell or a program. */
export function modelCode(tool: ModelTool, facts: ModelFacts): string {
  return CODE[tool](facts)
}

const lines = (...all: string[]) => all.join('\n')

const CODE: Record<ModelTool, (facts: ModelFacts) => string> = {
  curl: ({ url, model }) =>
    lines(
      `curl ${url}/chat/completions \\`,
      '  -H "Authorization: Bearer $OPENAI_API_KEY" \\',
      "  -H 'Content-Type: application/json' \\",
      `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "${QUESTION}"}]}'`,
    ),
  python: ({ url, model }) =>
    lines(
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url="${url}")`,
      'answer = client.chat.completions.create(',
      `    model="${model}",`,
      `    messages=[{"role": "user", "content": "${QUESTION}"}],`,
      ')',
      'print(answer.choices[0].message.content)',
    ),
  javascript: ({ url, model }) =>
    lines(
      "import OpenAI from 'openai'",
      '',
      `const client = new OpenAI({ baseURL: '${url}' })`,
      'const answer = await client.chat.completions.create({',
      `  model: '${model}',`,
      `  messages: [{ role: 'user', content: '${QUESTION}' }],`,
      '})',
      'console.log(answer.choices[0].message.content)',
    ),
}
