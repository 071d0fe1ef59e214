import { CatalogueError, type CatalogueModel } from '../../platform/config/catalogue.ts'
import { createDemoFilms } from './demo/demo-films.ts'
import { createDemoPictures } from './demo/demo-pictures.ts'
import { createDemoServer } from './demo/demo-server.ts'
import { createOpenAiServer } from './openai/openai-server.ts'
import type { ModelServer } from './port.ts'

/**
 * The servers of each model of the catalogue, in the order in which they are tried; where none is named, the demo.
 * @param local The model that runs beside the gateway; null where there is none.
 * @throws CatalogueError where a server's key is not in the environment, with the variable that is to hold it; where a model
 *   is to be answered by the local one, and there is none.
 */
export function modelServersOf(
  models: readonly CatalogueModel[],
  env: Readonly<Record<string, string | undefined>>,
  nowSeconds: () => number,
  local: ModelServer | null = null,
): ReadonlyMap<string, readonly ModelServer[]> {
  const pictures = createDemoPictures()
  const films = createDemoFilms()
  return new Map(
    models.map(({ id, servers }) => [
      id,
      servers.length === 0
        ? [createDemoServer({ model: id, nowSeconds, pictures, films })]
        : servers.map(server => {
            if (server.driver === 'local') return local ?? noLocal(id)
            const { url, key_env, model = id } = server
            return createOpenAiServer({ url, key: keyOf(env, id, key_env), model })
          }),
    ]),
  )
}

function noLocal(model: string): never {
  throw new CatalogueError(
    `the model ${model} is answered by the local one, and BERTH_LOCAL_MODEL names none`,
  )
}

function keyOf(
  env: Readonly<Record<string, string | undefined>>,
  model: string,
  variable: string | undefined,
): string | null {
  if (variable === undefined) return null
  const key = env[variable]
  if (!key) {
    throw new CatalogueError(
      `the model ${model} wants the key of its server in ${variable}, which is not set`,
    )
  }
  return key
}
