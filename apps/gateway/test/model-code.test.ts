import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { embeddingCode, imageCode, videoCode } from '@berth/contract/model-call-code'
import { MODEL_TOOLS, type ModelTool, modelCode } from '@berth/contract/model-code'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { thirdOfTurn } from '../../../scripts/test/turns.ts'
import { FILM, type FilmServerDouble, startFilmServer } from './film-server.ts'
import { at, hostedModel } from './hosted-models.ts'
import { type ModelGateway, startModelGateway } from './model-gateway.ts'
import { type ModelServerDouble, says } from './model-server.ts'
import { pythonWithOpenai } from './python-openai.ts'
import type { TestGateway } from './start-gateway.ts'

/** Making a Python takes so long, where none has the client. */
const PYTHON_MS = 200_000
/** Programs write here; it lies in the repository, where they find the client. */
const CACHE = resolve(import.meta.dirname, '../../../node_modules/.cache/berth')
/** A picture of one dot. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let films: FilmServerDouble
let key: string
let python: Awaited<ReturnType<typeof pythonWithOpenai>>
let folder: string

beforeAll(async () => {
  python = await pythonWithOpenai()
  await mkdir(CACHE, { recursive: true })
  folder = await mkdtemp(join(CACHE, 'code-'))
  films = await startFilmServer()
  models = await startModelGateway({
    filmLimits: { lookMs: 40, filmMs: 60_000, fetchMs: 3_000, failuresMax: 2 },
    more: ({ server }) => [
      hostedModel('test/one', { servers: [at(server)] }),
      hostedModel('test/painter', {
        kind: 'image',
        servers: [at(server)],
        image_input: { count_max: 1, bytes_max: 100_000, types: ['image/png'] },
      }),
      hostedModel('test/vectors', { kind: 'embedding', servers: [at(server)] }),
      hostedModel('test/filmer', {
        kind: 'video',
        image_input: { count_max: 2, bytes_max: 100_000, types: ['image/png'] },
        servers: [{ ...at(server), url: films.url }],
      }),
    ],
  })
  ;({ gateway, server } = models)
  key = (await models.customer(1_000)).key
}, PYTHON_MS)
afterAll(async () => {
  await models?.stop()
  await films?.close()
  await rm(folder, { recursive: true, force: true })
})
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
  return (await promisify(execFile)(program, args, { env, cwd: folder })).stdout
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

describe.each(thirdOfTurn(MODEL_TOOLS))('[B11] the %s that the console shows', tool => {
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

  test('has pictures made as they were asked for, and keeps each in a file', async context => {
    if (tool === 'python' && 'why' in python) context.skip(python.why)
    server.answer(answers({ created: 1, data: [{ b64_json: DOT }, { b64_json: DOT }] }))
    const told = { prompt: TRICKY, negativePrompt: `no ${TRICKY}`, count: 2, size: '512x256', seed: 90_414 }
    const ran = await runCode(tool, imageCode(tool, { ...facts(), model: 'test/painter', ...told }))
    expect(server.asked).toHaveLength(1)
    expect(server.asked[0]?.body).toMatchObject({
      ...{ prompt: TRICKY, negative_prompt: `no ${TRICKY}`, n: 2, size: '512x256', seed: 90_414 },
    })
    expect(await keptPicture(tool, ran)).toEqual([DOT, DOT])
  })

  test('has a picture made after the one that lies beside it', async context => {
    if (tool === 'python' && 'why' in python) context.skip(python.why)
    server.answer(answers({ created: 1, data: [{ b64_json: DOT }] }))
    await writeFile(join(folder, 'picture.png'), Buffer.from(DOT, 'base64'))
    const prompt = `@${TRICKY}`
    const told = { prompt, negativePrompt: '<no', count: 1, seed: 7, hasPicture: true }
    const ran = await runCode(tool, imageCode(tool, { ...facts(), model: 'test/painter', ...told }))
    expect(server.asked.map(({ url }) => url)).toEqual(['/v1/images/edits'])
    // A form has lines end as the network does.
    const form = Buffer.from(server.asked[0]?.text ?? '', 'latin1')
      .toString('utf8')
      .replaceAll('\r\n', '\n')
    for (const part of [prompt, '<no', 'name="seed"']) expect(form).toContain(part)
    expect(await keptPicture(tool, ran)).toEqual([DOT])
  })

  test.for([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ] as const)(
    'has a video made, waits for it and keeps it; after a picture: %s, up to one: %s',
    async ([hasPicture, hasLastPicture], context) => {
      if (tool === 'python' && 'why' in python) context.skip(python.why)
      films.asked.length = 0
      await writeFile(join(folder, 'picture.png'), Buffer.from(DOT, 'base64'))
      await writeFile(join(folder, 'last-picture.png'), Buffer.from(DOT, 'base64'))
      // It goes on to be made: what is asked of it names itself in its own words.
      const prompt = `"id": "video_0" ${TRICKY}`
      const told = {
        prompt,
        negativePrompt: 'no',
        size: '256x256',
        seed: 7,
        seconds: 2,
        hasPicture,
        hasLastPicture,
      }
      await runCode(tool, videoCode(tool, { ...facts(), model: 'test/filmer', ...told }))
      const begun = films.asked.find(({ line }) => line === 'POST /v1/videos')?.body ?? ''
      expect(begun).toContain('quoted')
      expect(begun.includes('input_reference')).toBe(hasPicture)
      expect(begun.includes('last_image')).toBe(hasLastPicture)
      expect((await readFile(join(folder, 'video.mp4'))).equals(FILM)).toBe(true)
      await rm(join(folder, 'video.mp4'))
    },
  )

  test('prints the vector of a text', async context => {
    if (tool === 'python' && 'why' in python) context.skip(python.why)
    server.answer(
      answers({
        ...{ object: 'list', model: 'theirs', usage: { prompt_tokens: 3, total_tokens: 3 } },
        data: [{ object: 'embedding', index: 0, embedding: [0.25, -0.5] }],
      }),
    )
    const ran = await runCode(tool, embeddingCode(tool, { ...facts(), model: 'test/vectors', text: TRICKY }))
    expect(server.asked[0]).toMatchObject({ url: '/v1/embeddings', body: { input: TRICKY } })
    for (const number of ['0.25', '-0.5']) expect(ran).toContain(number)
  })

  test('is refused without a key that is one', async context => {
    if (tool === 'python' && 'why' in python) context.skip(python.why)
    const ran = await runCode(tool, modelCode(tool, facts()), 'bk-none').catch(({ stderr }) => String(stderr))
    expect(ran).toMatch(/invalid_api_key|API key/i)
    expect(server.asked).toEqual([])
  })
})

/** Answers with JSON. */
const answers =
  (body: object): Parameters<ModelServerDouble['answer']>[0] =>
  response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

/** The pictures that a program has kept, in base64: those whose names it said, or those of its answer. */
async function keptPicture(tool: ModelTool, said: string): Promise<unknown[]> {
  if (tool === 'curl') {
    const { data } = JSON.parse(await readFile(join(folder, 'images.json'), 'utf8'))
    return data.map((one: { b64_json: string }) => one.b64_json)
  }
  const names = said.trim().split(/\s+/)
  return Promise.all(names.map(name => readFile(join(folder, name), 'base64')))
}
