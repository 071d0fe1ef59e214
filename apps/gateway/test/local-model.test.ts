import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import type OpenAI from 'openai'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { modelCall } from '../src/domains/models/tables.ts'
import { ENGINE_ENTRY } from '../src/drivers/models/local/engine-folder.ts'
import { createLocalModel, type LocalModel } from '../src/drivers/models/local/local-model.ts'
import { systemIds } from '../src/platform/ids.ts'
import { hostedModel, PRICES } from './hosted-models.ts'
import { llamaEngine } from './llama-engine.ts'
import { type ModelGateway, startModelGateway } from './model-gateway.ts'
import { tinyGguf } from './tiny-gguf.ts'

/**
 * Goal: a model that really runs, beside the gateway, answers the official client, is paid for, and outlives its process.
 * Method: a small model with random weights, by the engine that a gateway installs for itself.
 */

const engine = await llamaEngine()
if ('why' in engine) process.stdout.write(`SKIP the model beside the gateway: ${engine.why}\n`)

describe.skipIf('why' in engine)('the model beside the gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-local-model-'))
  const file = join(folder, 'tiny.gguf')
  let local: LocalModel
  let models: ModelGateway

  beforeAll(async () => {
    writeFileSync(file, tinyGguf())
    const module = 'module' in engine ? engine.module : ''
    local = createLocalModel({
      source: { place: file, isAddress: false, sha256: null },
      engine: module.slice(0, -ENGINE_ENTRY.length - 1),
      folder: join(folder, 'kept'),
      contextTokens: 512,
      ids: systemIds,
      log: pino({ level: 'silent' }),
      againMs: [50],
    })
    const limits = { context_tokens: 512, output_tokens_max: 64 }
    models = await startModelGateway({
      local: local.server,
      more: () => [hostedModel('small', { ...limits, servers: [{ driver: 'local' }] })],
    })
    local.start()
    await vi.waitFor(() => expect(local.why()).toBeNull(), { timeout: 60_000, interval: 100 })
  })
  afterAll(async () => {
    await models.stop()
    const pid = local.pid() ?? 0
    await local.stop()
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    rmSync(folder, { recursive: true, force: true })
  })

  const QUESTION = {
    model: 'small',
    messages: [
      { role: 'system' as const, content: 'Answer shortly.' },
      { role: 'user' as const, content: 'How are you?' },
    ],
    max_tokens: 12,
    seed: 5,
  }

  test('[B10] it answers the official client as a whole and as a stream, the same for the same seed, and is paid for', async () => {
    const customer = await models.customer()
    const client = customer.client()
    const whole = await client.chat.completions.create(QUESTION)
    expect(whole.choices[0]?.message.content).not.toBe('')
    expect(whole.usage?.completion_tokens).toBeGreaterThan(0)
    const stream = await client.chat.completions.create({
      ...QUESTION,
      stream: true,
      stream_options: { include_usage: true },
    })
    const events: OpenAI.ChatCompletionChunk[] = []
    for await (const event of stream) events.push(event)
    const words = events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(words).toBe(whole.choices[0]?.message.content)
    const used = events.at(-1)?.usage
    expect(used).toEqual(whole.usage)
    const { db } = models.gateway.database
    const calls = () => db.select().from(modelCall).where(eq(modelCall.userId, customer.userId))
    await expect.poll(async () => (await calls()).map(({ status }) => status)).toEqual(['done', 'done'])
    const { prompt_tokens: input = 0, completion_tokens: output = 0 } = whole.usage ?? {}
    const price = BigInt(input) * PRICES.input + BigInt(output) * PRICES.output
    expect((await calls()).map(({ costMicro }) => costMicro)).toEqual([price, price])
  })

  test('[B10] a question that it cannot take is refused in its words, and costs nothing', async () => {
    const client = (await models.customer()).client()
    const ask = (more: object) => client.chat.completions.create({ ...QUESTION, ...more })
    await expect(ask({ n: 2 })).rejects.toThrow('This model gives one answer.')
    const long = [{ role: 'user', content: 'x'.repeat(2_000) }]
    await expect(ask({ messages: long })).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    })
    await expect(client.completions.create({ model: 'small', prompt: 'a' })).rejects.toThrow(
      'This model chats',
    )
    // None of them was a fault of the server.
    await ask({})
  })

  test('who leaves ends the answer, and the next one is not kept waiting', async () => {
    const client = (await models.customer()).client()
    for (let nth = 0; nth < 3; nth++) {
      const stream = await client.chat.completions.create({ ...QUESTION, max_tokens: 64, stream: true })
      for await (const _ of stream) break
    }
    await client.chat.completions.create(QUESTION)
  })

  test('its process is nobody else’s to ask, and one that is killed is started again', async () => {
    const client = (await models.customer()).client({ maxRetries: 8 })
    const pid = local.pid() ?? 0
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => local.pid()).not.toBe(pid)
    const answer = await client.chat.completions.create(QUESTION)
    expect(answer.choices).toHaveLength(1)
  })
})
