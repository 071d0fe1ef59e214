import { resolve } from 'node:path'
import { CatalogueError } from '../platform/config/catalogue.ts'
import { diffCatalogues } from '../platform/config/catalogue-diff.ts'
import type { Config } from '../platform/config/config.ts'
import { EXIT, Refused } from './line/answer.ts'
import { looking, optional, required } from './line/command.ts'
import { counted } from './line/said.ts'
import { path } from './line/values.ts'

/** What is for sale. */
export const catalogueCommands = [
  looking({
    noun: 'catalogue',
    verb: 'check',
    summary: 'Says what is wrong with a catalogue, by file and line',
    details: 'The exit status is 1 where anything is. A gateway would not start with it.',
    arguments: { file: optional(path('<file>'), 'Left out: the one that the gateways read') },
    options: {},
    examples: [
      ['catalogue check', 'the one that the gateways read'],
      ['catalogue check config/next.yaml', 'one that is being written'],
    ],
    async run({ config }, given) {
      const file = given.file === null ? config().catalogueFile : resolve(given.file)
      const { catalogue, problems } = await readNamed(config(), file)
      if (catalogue === null) {
        return {
          data: { file, good: false, problems },
          text: problems.map(problem => `${problem}\n`).join(''),
          exit: EXIT.refused,
        }
      }
      const holds = [
        counted(catalogue.regions.length, 'region'),
        counted(catalogue.gpu_specs.length, 'GPU'),
        counted(catalogue.images.length, 'image'),
        counted(catalogue.models.length, 'model'),
      ].join(', ')
      return { data: { file, good: true, problems: [] }, text: `${file} is good: ${holds}.\n` }
    },
  }),
  looking({
    noun: 'catalogue',
    verb: 'diff',
    summary: 'Says what another catalogue would change, in words',
    details:
      'Compared with the file that the gateways read when they start. The exit status is 1 where anything differs. Gateways ' +
      'take a catalogue when they start: one after the other, customers notice nothing.',
    arguments: {
      file: required(path('<file>'), 'The other catalogue', 'Which file? The other catalogue is missing.'),
    },
    options: {},
    examples: [
      ['catalogue diff config/next.yaml', 'regions, prices, images and models that come, go and change'],
    ],
    async run({ config }, given) {
      const before = await readGood(config(), config().catalogueFile)
      const after = await readGood(config(), resolve(given.file))
      const changes = diffCatalogues(before, after)
      const lines = changes.map(({ kind, what, id, detail }) => {
        const name = id === '' ? what : `${what} ${id}`
        return kind === 'changed' ? `~ ${name}  ${detail}\n` : `${kind === 'added' ? '+' : '-'} ${name}\n`
      })
      return {
        data: { changes },
        text: changes.length === 0 ? 'Nothing differs.\n' : lines.join(''),
        ...(changes.length === 0 ? {} : { exit: EXIT.refused }),
      }
    },
  }),
]

async function readNamed({ serviceHost }: Config, file: string) {
  // With the drivers' checks, which take a while to load.
  const { readCatalogue } = await import('../gateway-parts.ts')
  try {
    return { catalogue: readCatalogue({ catalogueFile: file, serviceHost }), problems: [] }
  } catch (error) {
    if (error instanceof CatalogueError) return { catalogue: null, problems: error.message.split('\n') }
    throw error
  }
}

async function readGood(config: Config, file: string) {
  const { catalogue, problems } = await readNamed(config, file)
  if (catalogue === null) throw new Refused(problems.join('\n'))
  return catalogue
}
