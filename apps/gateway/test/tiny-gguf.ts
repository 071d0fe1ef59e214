/** As llama.cpp names types of values in a GGUF file. */
const TYPES = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const
const ALIGNED = 32
const VERSION = 3
const FLOAT_BYTES = 4

const [EMBEDDING, HEADS, FORWARD, LAYERS, CONTEXT] = [64, 4, 128, 2, 2_048]
/** How a SentencePiece vocabulary names what a token is. */
const [NORMAL, UNKNOWN, CONTROL, BYTE] = [1, 2, 3, 6]

/**
 * A language model of half a megabyte whose weights are random: what it says has no sense, and everything around it is real.
 * The same bytes each time.
 */
export function tinyGguf(): Buffer {
  const { tokens, types } = vocabulary()
  const scores = tokens.map((_, nth) => (types[nth] === NORMAL ? -1 : 0))
  const values = [
    text('general.architecture', 'llama'),
    text('general.name', 'tiny-random'),
    number('llama.context_length', CONTEXT),
    number('llama.embedding_length', EMBEDDING),
    number('llama.block_count', LAYERS),
    number('llama.feed_forward_length', FORWARD),
    number('llama.attention.head_count', HEADS),
    number('llama.attention.head_count_kv', HEADS),
    value('llama.attention.layer_norm_rms_epsilon', TYPES.float32, float(1e-5)),
    number('llama.rope.dimension_count', EMBEDDING / HEADS),
    number('llama.vocab_size', tokens.length),
    number('general.file_type', 0),
    text('tokenizer.ggml.model', 'llama'),
    text('tokenizer.ggml.pre', 'default'),
    list('tokenizer.ggml.tokens', TYPES.string, tokens.map(bytesOf)),
    list('tokenizer.ggml.scores', TYPES.float32, scores.map(float)),
    list('tokenizer.ggml.token_type', TYPES.int32, types.map(uint32)),
    number('tokenizer.ggml.unknown_token_id', 0),
    number('tokenizer.ggml.bos_token_id', 1),
    number('tokenizer.ggml.eos_token_id', 2),
    value('tokenizer.ggml.add_bos_token', TYPES.bool, Buffer.from([1])),
    text(
      'tokenizer.chat_template',
      "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:",
    ),
  ]
  const tensors = tensorsOf(tokens.length)
  let offset = 0
  const about = tensors.map(({ name, shape, data }) => {
    const info = [bytesOf(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(offset)]
    offset += padded(data).length
    return Buffer.concat(info)
  })
  const counts = [uint64(tensors.length), uint64(values.length)]
  const head = Buffer.concat([Buffer.from('GGUF'), uint32(VERSION), ...counts, ...values, ...about])
  return Buffer.concat([padded(head), ...tensors.map(({ data }) => padded(data))])
}

function vocabulary(): { tokens: string[]; types: number[] } {
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  )
  const letters = ['\u2581', ...Array.from({ length: 94 }, (_, nth) => String.fromCharCode(33 + nth))]
  return {
    tokens: ['<unk>', '<s>', '</s>', ...bytes, ...letters],
    types: [UNKNOWN, CONTROL, CONTROL, ...bytes.map(() => BYTE), ...letters.map(() => NORMAL)],
  }
}

interface Tensor {
  name: string
  /** The fastest dimension first. */
  shape: number[]
  data: Buffer
}

function tensorsOf(vocabularySize: number): Tensor[] {
  const random = gaussian(7)
  const weights = (name: string, ...shape: number[]): Tensor => tensor(name, shape, () => 0.1 * random())
  const ones = (name: string): Tensor => tensor(name, [EMBEDDING], () => 1)
  const layers = Array.from({ length: LAYERS }, (_, nth) => `blk.${nth}`).flatMap(layer => [
    ones(`${layer}.attn_norm.weight`),
    ones(`${layer}.ffn_norm.weight`),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map(part =>
      weights(`${layer}.${part}.weight`, EMBEDDING, EMBEDDING),
    ),
    weights(`${layer}.ffn_gate.weight`, EMBEDDING, FORWARD),
    weights(`${layer}.ffn_up.weight`, EMBEDDING, FORWARD),
    weights(`${layer}.ffn_down.weight`, FORWARD, EMBEDDING),
  ])
  return [
    weights('token_embd.weight', EMBEDDING, vocabularySize),
    ones('output_norm.weight'),
    weights('output.weight', EMBEDDING, vocabularySize),
    ...layers,
  ]
}

function tensor(name: string, shape: number[], next: () => number): Tensor {
  const count = shape.reduce((all, one) => all * one, 1)
  const data = Buffer.alloc(count * FLOAT_BYTES)
  for (let at = 0; at < count; at++) data.writeFloatLE(next(), at * FLOAT_BYTES)
  return { name, shape, data }
}

/** Numbers around zero, the same ones for the same seed. */
function gaussian(seed: number): () => number {
  let state = seed
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
}

function uint32(of: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(of)
  return bytes
}

function uint64(of: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(of))
  return bytes
}

function float(of: number): Buffer {
  const bytes = Buffer.alloc(FLOAT_BYTES)
  bytes.writeFloatLE(of)
  return bytes
}

function bytesOf(of: string): Buffer {
  const bytes = Buffer.from(of)
  return Buffer.concat([uint64(bytes.length), bytes])
}

const value = (name: string, type: number, bytes: Buffer) =>
  Buffer.concat([bytesOf(name), uint32(type), bytes])
const text = (name: string, of: string) => value(name, TYPES.string, bytesOf(of))
const number = (name: string, of: number) => value(name, TYPES.uint32, uint32(of))
const list = (name: string, type: number, items: readonly Buffer[]) =>
  value(name, TYPES.array, Buffer.concat([uint32(type), uint64(items.length), ...items]))

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((ALIGNED - (bytes.length % ALIGNED)) % ALIGNED)])
}
