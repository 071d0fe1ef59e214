import { describe, expect, test } from 'vitest'
import { readRefusal } from './upstream-refusal.ts'

const refusal = (error: unknown) => readRefusal(Buffer.from(JSON.stringify({ error })))
const told = (message: string) => refusal({ message })?.error.message ?? ''

describe('what a server says of a question that is too long', () => {
  test.each([
    [
      "This model's maximum context length is 4097 tokens. However, you requested 5000 tokens (3000 in the messages, 2000 in the completion).",
      [4_097, 5_000],
    ],
    [
      "This model's maximum context length is 8,192 tokens. However, your messages resulted in 9,001 tokens.",
      [8_192, 9_001],
    ],
    [
      "This model's maximum context length is 4096 tokens. However, you requested 100 output tokens and your prompt contains at least 3997 input tokens, for a total of at least 4097 tokens.",
      [4_096, 4_097],
    ],
    [
      "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 5000 tokens from the input messages and 4000 tokens for the completion.",
      [8_192, 9_000],
    ],
    ["The input (5000 tokens) is longer than the model's context length (4096 tokens).", [4_096, 5_000]],
    [
      'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
      [4_096, 5_000],
    ],
    ['prompt is too long: 210000 tokens > 200000 maximum', [200_000, 210_000]],
    [
      '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 100 `max_new_tokens`',
      [4_096, 4_100],
    ],
  ])('has its numbers: %s', (message, [limit, asked]) => {
    const read = refusal({ message })
    expect(read?.error.code).toBe('context_length_exceeded')
    expect(read?.tooLong?.numbers).toEqual({ limit, asked })
    expect(read?.error.message).toBe(message)
  })

  test('llama.cpp has them beside its words; where nobody says them none are made up', () => {
    const llama = {
      message: 'too long',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 5_000,
      n_ctx: 4_096,
    }
    expect(refusal(llama)?.tooLong?.numbers).toEqual({ limit: 4_096, asked: 5_000 })
    expect(refusal({ message: 'maximum context length is 1000 tokens.' })?.tooLong).toEqual({ numbers: null })
    expect(
      refusal({ message: 'context length 4096 exceeded, you requested 12 tokens' })?.tooLong?.numbers,
    ).toBeNull()
    expect(refusal({ message: 'No tools here.' })?.tooLong).toBeNull()
  })
})

describe('the words of a server', () => {
  test.each([
    ['fetch http://10.0.0.7:8000/v1/chat?key=a failed', 'fetch … failed'],
    ['upstream 10.0.0.7:8000 and [fd00::1]:80 said no', 'upstream … and … said no'],
    ['host vllm-0.models.svc.cluster.local:8000 said no', 'host … said no'],
    ['redis.internal is full', '… is full'],
    ['Incorrect API key provided: sk-proj-abc123**********xyz.', 'Incorrect API key provided: …'],
    ['Authorization: Bearer abc.def said no', 'Authorization: … said no'],
    ['id 0123456789abcdef0123456789abcdef0123 is unknown', 'id … is unknown'],
    ['cannot read /data/models/llama-3/config.json here', 'cannot read … here'],
    ['wrong value\u0000\u001b[31m\u202e\n\n\there', 'wrong value [31m here'],
    ['bad "tools" Traceback (most recent call last):\n File "/app/x.py"', 'bad "tools" …'],
    [
      "messages.0.content: expected a string, got 12. 'max_tokens' must be <= 4096",
      "messages.0.content: expected a string, got 12. 'max_tokens' must be <= 4096",
    ],
  ])('keep what helps, and nothing of where it stands: %j', (message, kept) => {
    expect(told(message)).toBe(kept)
  })

  test('are short, and names are names', () => {
    expect(told('word '.repeat(10_000)).length).toBe(500)
    const odd = refusal({ message: 'no', type: 'x'.repeat(200), param: 'http://10.0.0.7/', code: { a: 1 } })
    expect(odd?.error).toEqual({ message: 'no', type: 'invalid_request_error', param: null, code: null })
    expect(refusal({ message: 'no', param: 'messages[0].content' })?.error.param).toBe('messages[0].content')
  })

  test('that are none are not told', () => {
    for (const text of ['', '{', '[]', 'null', '{"error":{"message":1}}', '<html>502</html>'])
      expect(readRefusal(Buffer.from(text))).toBeNull()
    expect(refusal('no such field')?.error.message).toBe('no such field')
  })

  test('made to take long do not', () => {
    for (const piece of ['a.', 'a-', '1,', '/usr/', 'http://', '[:', 'context length 1 ', '1 tokens ']) {
      const before = performance.now()
      told(piece.repeat(200_000))
      expect(performance.now() - before, piece).toBeLessThan(1_000)
    }
  })
})
