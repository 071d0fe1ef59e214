import { type Catalogue, CatalogueError, type CatalogueModel } from '../../../platform/config/catalogue.ts'
import { foundModel } from '../find-models.ts'
import type { ModelSource } from './model-file.ts'

const VENDOR = 'llama.cpp'
const ID_CHARS_MAX = 100

const isLocal = ({ servers }: CatalogueModel) => servers.some(({ driver }) => driver === 'local')

/**
 * The models that the one beside the gateway answers for: those of the catalogue that say so; else one by the name of its file,
 * at the price of what is found on this computer.
 * @returns The catalogue's models with it, and the longest context that one of them has.
 * @throws CatalogueError where nothing says what it costs, or where it is to do something else than chat.
 */
export function withLocalModel(
  { models, found_models: prices }: Pick<Catalogue, 'models' | 'found_models'>,
  source: ModelSource,
): { models: CatalogueModel[]; contextTokens: number } {
  const named = models.filter(isLocal)
  const other = named.find(({ kind }) => kind !== 'chat')
  if (other) {
    throw new CatalogueError(`the model ${other.id} is answered by the local one, which only chats`)
  }
  if (named.length > 0) {
    return { models: [...models], contextTokens: Math.max(...named.map(model => model.context_tokens)) }
  }
  if (!prices) {
    throw new CatalogueError(
      'BERTH_LOCAL_MODEL has no price: the catalogue has neither found_models nor a model whose server is { driver: local }',
    )
  }
  const made = foundModel({ id: idOf(source), vendor: VENDOR, server: { driver: 'local' } }, prices)
  const others = models.filter(({ id }) => id !== made.id)
  return { models: [{ ...made, kind: 'chat' }, ...others], contextTokens: made.context_tokens }
}

/** The name of the file, as models are named. */
function idOf({ place, isAddress }: ModelSource): string {
  const path = isAddress ? decodeURIComponent(new URL(place).pathname) : place
  const name =
    path
      .split('/')
      .at(-1)
      ?.replace(/\.gguf$/i, '') ?? ''
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return `local/${plain.slice(0, ID_CHARS_MAX) || 'model'}`
}
