import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { MODEL_TOOLS, type ModelTool, modelCode } from '@berth/contract/model-code'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { at, hostedModel } from './hosted-models.ts'
import { type ModelGateway, startModelGateway } from './model-gateway.ts'
import { type ModelServerDouble, says } from './model-server.ts'
import { pythonWithOpenai } from './python-openai.ts'
import type { TestGateway } from './start-gateway.ts'

/** Making a Python takes so long, where none has the client. */
const PYTHON_MS = 200_000

let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let key: string
let python: Awaited<ReturnType<typeof pythonWithOpenai>>

beforeAll(async () => {
  python = await pythonWithOpenai()
  models = await startModelGateway({
    more: ({ server }) => [hostedModel('test/one', { servers: [at(server)] })],
  })
  ;({ gateway, server } = models)
  key = (await models.customer()).key
}, PYTHON_MS)
afterAll(() => models.stop())
beforeEach(() => {
  server.asked.length = 0
  server.answer(says('Hello to you'))
})

/** Runs a program of a customer's, with their key where clients look for it. */
async function runCode(tool: ModelTool, code: string, ownKey = key): Promise<string> {
  const programs: Record<ModelTool, [string, string[]]> = {
    curl: ['sh', ['-c', code]],
    python: ['program' in python ? python.program : '', ['-c', code]],
    javascript: [process.execPath, ['--input-type=module', '-e', code]],
  }
  const [program, args] = programs[tool]
  const env = { PATH: process.env.PATH, OPENAI_API_KEY: ownKey }
  return (await promisify(execFile)(program, args, { env, cwd: import.meta.dirname })).stdout
}

const facts = () => ({ url: `${gateway.origin}/v1`, model: 'test/one' })

/** What a shell, JSON, Python or JavaScript would make something else of, were it not a text. */
const TRICKY = [
  'It\'s "quoted" \\" and `id` $HOME $(id) %s',
  'a line\nand\ta tab, \\n, \\u0041',
  '猫 🐈 ü \u2028 </script>',
  "'''",
  '"""',
].join('\n')

describe.each(MODEL_TOOLS)('[B11] the %s that the console shows', tool => {
  test('runs as it is, and prints the answer', async context => {
    if (tool === 'python' && 'why' in python) context.skip(python.why)
    expect(await runCode(tool, modelCode(tool, facts()))).toContain('Hello to you')
    expect(server.asked[0]?.body).toMatchObject({ messages: [{ role: 'user', content: 'Hello!' }] })
  })

  test('asks what was typed, to the letter, with the parameters that were chosen', async context => {
    if (tool === 'python' && 'why' in python) context.skip(python.why)
    const messages = [
      { role: 'system', content: `You are brief. ${TRICKY}` },
      { role: 'user', content: TRICKY },
    ] as const
    const parameters = {
      max_tokens: 64,
      temperature: 0.7,
      top_p: 0.95,
      presence_penalty: -0.5,
      frequency_penalty: 0.25,
      repetition_penalty: 1.05,
    }
    await runCode(tool, modelCode(tool, { ...facts(), messages, parameters }))
    expect(server.asked).toHaveLength(1)
    expect(server.asked[0]?.body).toMatchObject({ messages, ...parameters })
  })

  test('is refused without a key that is one', async context => {
    if (tool === 'python' && 'why' in python) context.skip(python.why)
    const ran = await runCode(tool, modelCode(tool, facts()), 'bk-none').catch(({ stderr }) => String(stderr))
    expect(ran).toMatch(/invalid_api_key|API key/i)
    expect(server.asked).toEqual([])
  })
})
