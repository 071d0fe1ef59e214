import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A catalogue with models of a server, in a folder of its own. */
export interface ModelCatalogue {
  file: string
  remove(): Promise<void>
}

const CONFIG = fileURLToPath(new URL('../config', import.meta.url))

/**
 * The catalogue that ships, with the first of its models, and others of several kinds and vendors, all of which one server
 * answers.
 * @param url Of the server, up to where the paths of OpenAI's protocol begin.
 * @param demos Further models, which Berth's own demo answers.
 */
export async function makeModelCatalogue(
  url: string,
  demos: readonly object[] = [],
): Promise<ModelCatalogue> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-models-'))
  await cp(CONFIG, folder, { recursive: true })
  const file = join(folder, 'catalogue.yaml')
  const shipped = await readFile(file, 'utf8')
  // Models are what the file ends with.
  const second = shipped.indexOf('\n  - id: ', shipped.indexOf('\nmodels:\n  - id: ') + '\nmodels:\n'.length)
  const kept = second === -1 ? shipped.trimEnd() : shipped.slice(0, second)
  await writeFile(file, `${kept}\n${MODELS.map(at(url)).join('')}${demos.map(entryOf).join('')}`)
  return { file, remove: () => rm(folder, { recursive: true, force: true }) }
}

const entryOf = (model: object) => `  - ${JSON.stringify(model)}\n`
const at = (url: string) => (model: object) => entryOf({ ...model, servers: [{ driver: 'openai', url }] })

const chat = (id: string, name: string, vendor: string, prices: [string, string], more: object = {}) => ({
  id,
  name,
  vendor,
  kind: 'chat',
  description: `${name} answers in many languages, and writes programs.`,
  context_tokens: 131_072,
  output_tokens_max: 4_096,
  price_input_million: prices[0],
  price_output_million: prices[1],
  ...more,
})

const MODELS = [
  chat('meta/llama-3.3-70b-instruct', 'Llama 3.3 70B Instruct', 'Meta', ['0.23', '0.40']),
  chat('qwen/qwen3-32b', 'Qwen3 32B', 'Qwen', ['0.10', '0.30'], {
    context_tokens: 40_960,
    capabilities: ['tools', 'json', 'reasoning'],
  }),
  chat('mistral/mistral-small-3.2', 'Mistral Small 3.2', 'Mistral', ['0.10', '0.30'], {
    context_tokens: 32_768,
  }),
  chat('deepseek/deepseek-v3.2', 'DeepSeek V3.2', 'DeepSeek', ['0.27', '0.41'], { capabilities: ['tools'] }),
  chat('qwen/qwen2.5-vl-72b', 'Qwen2.5-VL 72B', 'Qwen', ['0.25', '0.75'], { kind: 'multimodal' }),
  {
    id: 'stability/sd-3.5-large',
    name: 'Stable Diffusion 3.5 Large',
    vendor: 'Stability',
    kind: 'image',
    description: 'Makes pictures of what is said.',
    price_image: '0.012',
    sizes: ['1024x1024', '1536x1024', '1024x1536'],
  },
  {
    id: 'wan/wan-2.2-t2v-14b',
    name: 'Wan 2.2 14B',
    vendor: 'Wan',
    kind: 'video',
    description: 'Makes short films of what is said.',
    price_video_second: '0.040',
    video_seconds: [2, 5, 8],
  },
]
