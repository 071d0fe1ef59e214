import { expandWord, unquoted } from './dockerfile-words.ts'
import { parseReference } from './image-reference.ts'

/** What a stage begins with: nothing, an earlier stage by its place, or an image of a registry. */
export type StageBase = 'scratch' | { stage: number } | { reference: string }

/** What a step does. `plain` changes what the image says of itself, in the words of the file. */
export type StepDeed =
  | { kind: 'run'; script: string }
  | { kind: 'run'; argv: string[] }
  /** `words` are what stands behind the flags. Without `from` the files come from the context. */
  | { kind: 'copy'; from: Exclude<StageBase, 'scratch'> | null; flags: string[]; words: string }
  /** A variable for steps of its stage alone; `value` as the file has it, null: none is given. */
  | { kind: 'arg'; name: string; value: string | null }
  | { kind: 'plain'; instruction: string; words: string }

export interface BuildStep {
  /** As it is shown in the log. */
  shown: string
  deed: StepDeed
}

export interface BuildStage {
  base: StageBase
  steps: BuildStep[]
}

/** A Dockerfile that is refused. `message` is a sentence for its author, in English. */
export class DockerfileError extends Error {
  /** The line that is wrong, the first being 1. */
  readonly line: number
  constructor(line: number, message: string) {
    super(`Line ${line}: ${message}`)
    this.name = 'DockerfileError'
    this.line = line
  }
}

/** A build came to nothing by its author's doing: a step failed, or it makes more than may be. Final. */
export class RecipeError extends Error {
  readonly code: 'step_failed' | 'too_large'
  constructor(code: RecipeError['code'], message: string) {
    super(message)
    this.name = 'RecipeError'
    this.code = code
  }
}

const STEPS_MAX = 100
const STAGES_MAX = 10

/** Left to the engine, which reads them by its own rules: none reaches anything outside of the image. */
const PLAIN = new Set([
  'ENV',
  'LABEL',
  'WORKDIR',
  'USER',
  'CMD',
  'ENTRYPOINT',
  'EXPOSE',
  'SHELL',
  'STOPSIGNAL',
])
/** Of no use here, and left out: machines have disks of their own, and probes of their own. */
const LEFT_OUT = new Set(['VOLUME', 'HEALTHCHECK', 'MAINTAINER'])
const NOT_OFFERED: Readonly<Record<string, string>> = {
  ADD: 'ADD is not offered, since it fetches and unpacks by itself: use COPY, or RUN with curl and tar',
  ONBUILD: 'ONBUILD is not offered',
}
/** What processors are called in images. */
const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { x64: 'amd64', arm64: 'arm64' }
const HEREDOC = /<<-?\s*(["']?)([A-Za-z_]\w*)\1/
const STAGE_NAME = /^[a-z][a-z0-9._-]*$/
/** A flag in the one way that is taken: what cannot be read in two ways. */
const FLAG = /^--([a-z]+)(?:=([\w.,:/@=-]+))?$/

interface Instruction {
  line: number
  name: string
  words: string
  /** Whole lines behind it that a `<<NAME` took. */
  heredoc: { word: string; body: string } | null
}

/**
 * Reads a Dockerfile, as far as builds of strangers are offered: every image that is begun with or copied from is known
 * when it returns, and no step is left that the engine would read in another way.
 * @throws DockerfileError.
 */
export function parseDockerfile(given: string): BuildStage[] {
  const text = given.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
  // Characters that two readers may take for different ones.
  const odd = /[^\P{C}\t\n]|[\u2028\u2029\u00a0]/u.exec(text)
  if (odd) throw new DockerfileError(lineAt(text, odd.index), 'it has a character that is not shown')
  const globals = new Map(platformArgs())
  const stages: (BuildStage & { name: string | null })[] = []
  let steps = 0
  for (const instruction of readInstructions(text)) {
    const { line, name, words } = instruction
    const fail = (message: string): never => {
      throw new DockerfileError(line, message)
    }
    const stage = stages.at(-1)
    if (name === 'FROM') {
      if (stages.length >= STAGES_MAX) fail(`more than ${STAGES_MAX} stages`)
      stages.push(readFrom(instruction, stages, globals))
    } else if (name === 'ARG' && !stage) {
      for (const { name: key, value } of readArgs(instruction)) {
        if (value !== null) globals.set(key, expand(line, unquoted(value), globals))
      }
    } else if (!stage) {
      fail(`${name} stands before FROM`)
    } else {
      const found = readSteps(instruction, stages, globals)
      steps += found.length
      if (steps > STEPS_MAX) fail(`more than ${STEPS_MAX} steps`)
      stage.steps.push(...found.map(deed => ({ shown: `${name} ${words}`.slice(0, 500), deed })))
    }
  }
  if (stages.length === 0) throw new DockerfileError(1, 'it has no FROM')
  return stages.map(({ base, steps: all }) => ({ base, steps: all }))
}

/** References of registries that stages begin with or copy from, each once. */
export function referencesOf(stages: readonly BuildStage[]): string[] {
  const bases = stages.flatMap(({ base, steps }) => [
    base,
    ...steps.flatMap(({ deed }) => (deed.kind === 'copy' && deed.from ? [deed.from] : [])),
  ])
  return [
    ...new Set(
      bases.flatMap(base => (typeof base === 'object' && 'reference' in base ? base.reference : [])),
    ),
  ]
}

function readSteps(
  instruction: Instruction,
  stages: readonly { name: string | null }[],
  globals: ReadonlyMap<string, string>,
): StepDeed[] {
  const { line, name, words, heredoc } = instruction
  if (LEFT_OUT.has(name)) return []
  const refusal = NOT_OFFERED[name]
  if (refusal !== undefined) throw new DockerfileError(line, refusal)
  if (name === 'RUN') return [readRun(instruction)]
  if (heredoc) throw new DockerfileError(line, `<<${heredoc.word} is offered with RUN alone`)
  if (name === 'ARG') {
    return readArgs(instruction).map(({ name: key, value }) => {
      const given = globals.get(key)
      return { kind: 'arg', name: key, value: value ?? (given === undefined ? null : quoted(given)) }
    })
  }
  if (name === 'COPY') return [readCopy(instruction, stages)]
  if (!PLAIN.has(name)) throw new DockerfileError(line, `${name} is not known`)
  if (words === '') throw new DockerfileError(line, `${name} says nothing`)
  // By labels of our own the engine's images are known to be whose.
  if (name === 'LABEL' && /berth|\$|\\/i.test(words))
    throw new DockerfileError(line, 'a LABEL may have neither variables nor the word berth')
  return [{ kind: 'plain', instruction: name, words }]
}

function readFrom(
  { line, words }: Instruction,
  stages: readonly { name: string | null }[],
  globals: ReadonlyMap<string, string>,
): BuildStage & { name: string | null } {
  const { flags, rest } = splitFlags(line, words)
  const platform = flags.find(({ name }) => name !== 'platform')
  if (platform) throw new DockerfileError(line, `--${platform.name} is not known`)
  const here = globals.get('TARGETPLATFORM')
  if (flags.some(({ value }) => value !== here))
    throw new DockerfileError(line, `only images for ${here} can be built here`)
  const [, word = '', name = null] = /^(\S+)(?:\s+as\s+(\S+))?$/i.exec(rest) ?? []
  if (word === '') throw new DockerfileError(line, 'FROM takes an image, and AS with a name')
  const lower = name?.toLowerCase() ?? null
  if (lower !== null && !STAGE_NAME.test(lower))
    throw new DockerfileError(line, `${name} is no name of a stage`)
  const wanted = expand(line, word, globals)
  if (wanted === 'scratch') return { name: lower, base: 'scratch', steps: [] }
  return { name: lower, base: stageNamed(stages, wanted) ?? referenceAt(line, wanted), steps: [] }
}

function readCopy({ line, words }: Instruction, stages: readonly { name: string | null }[]): StepDeed {
  const { flags, rest } = splitFlags(line, words)
  let from: Exclude<StageBase, 'scratch'> | null = null
  const kept: string[] = []
  for (const { name, value } of flags) {
    if (name === 'from') {
      const earlier = stages.slice(0, -1)
      const place = /^\d+$/.test(value) ? Number(value) : null
      if (place !== null && place >= earlier.length)
        throw new DockerfileError(line, `there is no stage ${place}`)
      from = place === null ? (stageNamed(earlier, value) ?? referenceAt(line, value)) : { stage: place }
    } else if (name === 'chown') kept.push(`--chown=${value}`)
    // It says how layers are put together, of which there is one for each step here.
    else if (name !== 'link') throw new DockerfileError(line, `--${name} is not offered`)
  }
  if (rest === '') throw new DockerfileError(line, 'COPY takes what is copied, and where to')
  return { kind: 'copy', from, flags: kept, words: rest }
}

function readRun({ line, words, heredoc }: Instruction): StepDeed {
  const { flags, rest } = splitFlags(line, words)
  const other = flags.find(
    ({ name, value }) => name !== 'mount' || !/(^|,)type=(cache|tmpfs)(,|$)/.test(value),
  )
  if (other) throw new DockerfileError(line, `RUN --${other.name} is not offered, but for mounts of a cache`)
  if (rest === '') throw new DockerfileError(line, 'RUN takes a command')
  if (heredoc) {
    const { word, body } = heredoc
    const isAll = rest.replace(HEREDOC, '').trim() === ''
    return { kind: 'run', script: isAll ? body : `${rest}\n${body}${word}\n` }
  }
  const argv = rest.startsWith('[') ? listOf(rest) : null
  return argv ? { kind: 'run', argv } : { kind: 'run', script: rest }
}

/** A list of texts in JSON; null for what is none, which is a command of the shell then, as Docker has it. */
function listOf(text: string): string[] | null {
  try {
    const list: unknown = JSON.parse(text)
    const isOne = Array.isArray(list) && list.length > 0 && list.every(one => typeof one === 'string')
    return isOne ? (list as string[]) : null
  } catch {
    return null
  }
}

function readArgs({ line, words }: Instruction): { name: string; value: string | null }[] {
  const args: { name: string; value: string | null }[] = []
  let rest = words
  while (rest !== '') {
    const found = /^([A-Za-z_]\w*)(?:=((?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])*))?(?:\s+|$)/.exec(rest)
    const [all = '', name = '', value = null] = found ?? []
    if (name === '') throw new DockerfileError(line, 'ARG takes a name, and = with a value')
    args.push({ name, value })
    rest = rest.slice(all.length)
  }
  if (args.length === 0) throw new DockerfileError(line, 'ARG takes a name')
  return args
}

/** Flags before the first word that is none. */
function splitFlags(line: number, words: string): { flags: { name: string; value: string }[]; rest: string } {
  const flags: { name: string; value: string }[] = []
  let rest = words
  while (rest.startsWith('--')) {
    const [word = ''] = /^\S+/.exec(rest) ?? []
    const literal = word.replace(
      /^--platform=\$\{?(BUILD|TARGET)PLATFORM\}?$/,
      `--platform=${platformHere()}`,
    )
    const [, name, value = ''] = FLAG.exec(literal) ?? []
    if (name === undefined) throw new DockerfileError(line, `${word} cannot be read`)
    flags.push({ name, value })
    rest = rest.slice(word.length).trimStart()
  }
  return { flags, rest }
}

function stageNamed(stages: readonly { name: string | null }[], name: string): { stage: number } | null {
  const place = stages.findLastIndex(stage => stage.name === name.toLowerCase())
  return place < 0 ? null : { stage: place }
}

function referenceAt(line: number, text: string): { reference: string } {
  if (!parseReference(text))
    throw new DockerfileError(line, `${text.slice(0, 100)} is no image of a registry`)
  return { reference: text }
}

function expand(line: number, word: string, globals: ReadonlyMap<string, string>): string {
  const value = expandWord(word, globals)
  if (value === null)
    throw new DockerfileError(line, `${word.slice(0, 100)} names a variable that has no value here`)
  return value
}

/** Lines without comments, those that go on put together. */
function* readInstructions(text: string): Generator<Instruction> {
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at += 1) {
    const line = at + 1
    const first = (lines[at] ?? '').trim()
    if (at === 0 && /^#\s*escape\s*=/i.test(first))
      throw new DockerfileError(line, 'another escape is not offered')
    if (first === '' || first.startsWith('#')) continue
    let whole = first
    while (whole.endsWith('\\')) {
      whole = whole.slice(0, -1)
      at += 1
      if (at >= lines.length) throw new DockerfileError(line, 'its last line goes on')
      // A comment and an empty line within are left out.
      while (at < lines.length - 1 && /^\s*(#|$)/.test(lines[at] ?? '')) at += 1
      whole += (lines[at] ?? '').trimEnd()
    }
    // Written out again, it would go on in what comes after it.
    if (whole.trimEnd().endsWith('\\')) throw new DockerfileError(line, 'its last line goes on')
    const [, word = '', words = ''] = /^([A-Za-z]+)(?:\s+(.*))?$/.exec(whole) ?? []
    if (word === '') throw new DockerfileError(line, 'it is no instruction')
    const [, , end] = /^(RUN|COPY)$/i.test(word) ? (HEREDOC.exec(words) ?? []) : []
    let heredoc: Instruction['heredoc'] = null
    if (end !== undefined) {
      const begin = at + 1
      at = lines.findIndex((one, place) => place >= begin && one.trim() === end)
      if (at < 0) throw new DockerfileError(line, `<<${end} has no end`)
      heredoc = {
        word: end,
        body: lines
          .slice(begin, at)
          .map(one => `${one}\n`)
          .join(''),
      }
    }
    yield { line, name: word.toUpperCase(), words: words.trim(), heredoc }
  }
}

const platformHere = () => `linux/${ARCHITECTURES[process.arch] ?? process.arch}`

function platformArgs(): [string, string][] {
  const architecture = ARCHITECTURES[process.arch] ?? process.arch
  return ['TARGET', 'BUILD'].flatMap((side): [string, string][] => [
    [`${side}PLATFORM`, platformHere()],
    [`${side}OS`, 'linux'],
    [`${side}ARCH`, architecture],
  ])
}

/** A value as the engine reads it back. */
const quoted = (value: string) => `"${value.replace(/["\\$]/g, '\\$&')}"`

const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length
