import { randomBytes } from 'node:crypto'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import { type BuildStage, type BuildStep, RecipeError, type StageBase } from '../port/dockerfile.ts'
import type { DockerfileBuild, DockerfileBuilds, ImageRecipe, ImageStore } from '../port/images.ts'
import { partsOfReference } from '../port/reference-parts.ts'
import { buildMark, removeBuildLeftovers } from './build-leftovers.ts'
import { type BuildRunDeps, commitAs, runStep } from './build-run.ts'
import { type ImageOrigin, ORIGIN_LABEL } from './container-plan.ts'
import { orNull, toComputeError } from './docker-errors.ts'
import { ownReference } from './docker-recipe.ts'
import { writeStep } from './write-step.ts'

interface Stage {
  /** The engine's image so far. */
  at: string
  /** Variables for steps alone: the engine has them as those of the image, until the stage ends. */
  args: Set<string>
}

/**
 * Builds of Dockerfiles. What the engine's own builder would do in a network and with rights of its own choice is done
 * here: each RUN is a machine's container, within all of a machine's walls, and no other step runs anything of the
 * customer's. Images that it begins with are known by the engine's own id, so that no name leads to what is another's.
 */
export function createDockerBuilds(deps: BuildRunDeps & { pull: ImageStore['pull'] }): DockerfileBuilds {
  const { docker, cloudId } = deps

  async function build(what: DockerfileBuild, signal: AbortSignal): Promise<ImageRecipe> {
    const { image_id, stages, limits, onLog, onStep } = what
    const recipe: ImageRecipe = { id: image_id, parts: { docker: { own: image_id } } }
    const { repo, tag } = ownReference(cloudId, image_id)
    // Whoever was killed amid an earlier try, or has just ended this one, left layers that nothing was made of.
    const whole = async () => {
      await removeBuildLeftovers(docker, cloudId, image_id)
      return recipe
    }
    if (await orNull(docker.getImage(`${repo}:${tag}`).inspect())) return whole()
    const total = stages.reduce((sum, { steps }) => sum + steps.length + 1, 0)
    const made: Stage[] = []
    let done = 0
    const begins = (shown: string) => {
      signal.throwIfAborted()
      onStep(done, total)
      done += 1
      onLog(`\n[${done}/${total}] ${shown}\n`)
    }
    const bring = createBring(what, signal)
    for (const { base, steps } of stages) {
      begins(`FROM ${baseText(base)}`)
      const before = typeof base === 'object' && 'stage' in base ? stageAt(made, base.stage) : null
      const from = before ? before.at : await bring(base as Exclude<StageBase, { stage: number }>)
      const stage: Stage = { at: await mark(image_id, from, signal), args: new Set(before?.args) }
      for (const step of steps) {
        begins(step.shown)
        await follow(what, { stage, step, made, bring }, signal)
        await mustFit(stage.at, limits.disk_gb)
      }
      made.push(stage)
    }
    const last = stageAt(made, stages.length - 1)
    const image = await finished(image_id, last)
    await docker.getImage(image).tag({ repo, tag })
    return whole()
  }

  /** Gets images by their references, each once, as their customer. @returns What the engine knows one by. */
  function createBring({ owner, access, onLog }: DockerfileBuild, signal: AbortSignal) {
    const known = new Map<string, string>()
    return async (base: Exclude<StageBase, { stage: number }>): Promise<string> => {
      if (base === 'scratch') return 'scratch'
      const { reference } = base
      const earlier = known.get(reference)
      if (earlier !== undefined) return earlier
      const image: ImageRecipe = { id: reference, parts: partsOfReference(reference), owner }
      await deps.pull(image, () => undefined, signal, access)
      const { Id, Config } = await docker.getImage(reference).inspect()
      if ((Config?.OnBuild ?? []).length > 0)
        throw new RecipeError('step_failed', `${reference} has steps of its own for builds (ONBUILD)`)
      onLog(`${reference} is ${Id}\n`)
      known.set(reference, Id)
      return Id
    }
  }

  type Bring = ReturnType<typeof createBring>

  /** Everything that is made of it has our mark from here on, by which what is left is found. */
  const mark = (imageId: string, from: string, signal: AbortSignal) =>
    writeStep(
      docker,
      { from, line: `LABEL "${buildMark.label}"="${buildMark.of(cloudId, imageId)}"` },
      signal,
    )

  async function follow(
    what: DockerfileBuild,
    at: { stage: Stage; step: BuildStep; made: readonly Stage[]; bring: Bring },
    signal: AbortSignal,
  ): Promise<void> {
    const { stage, step, made, bring } = at
    const { deed } = step
    if (deed.kind === 'run') {
      stage.at = await runStep(deps, { ...what, image: stage.at, deed }, signal)
    } else if (deed.kind === 'plain') {
      const line = `${deed.instruction} ${deed.words}`
      if (deed.instruction === 'ENV') for (const name of namesOf(deed.words)) stage.args.delete(name)
      stage.at = await writeStep(docker, { from: stage.at, line }, signal)
    } else if (deed.kind === 'arg') {
      const { Config } = await docker.getImage(stage.at).inspect()
      const isSet = (Config?.Env ?? []).some(entry => entry.startsWith(`${deed.name}=`))
      // What the image says of itself comes first, as for Docker; an argument may be given anew.
      if (deed.value === null || (isSet && !stage.args.has(deed.name))) return
      stage.args.add(deed.name)
      stage.at = await writeStep(docker, { from: stage.at, line: `ENV ${deed.name}=${deed.value}` }, signal)
    } else {
      const { from, flags, words } = deed
      if (!from && !what.context)
        throw new RecipeError('step_failed', 'COPY has nothing to copy from: there are no files')
      const source = from && ('stage' in from ? stageAt(made, from.stage).at : await bring(from))
      const line = ['COPY', ...(source ? [`--from=${source}`] : []), ...flags, words].join(' ')
      stage.at = await writeStep(
        docker,
        { from: stage.at, line, ...(!source && what.context && { context: what.context }) },
        signal,
      )
    }
  }

  async function mustFit(image: string, diskGb: number): Promise<void> {
    const { Size } = await docker.getImage(image).inspect()
    if (Size > diskGb * 2 ** 30) throw new RecipeError('too_large', `the image has more than ${diskGb} GB`)
  }

  /**
   * The image as others know it: what it goes by stands in a label, as on those that are made of machines, and what was for
   * its steps alone is not in it. The engine itself forgets no variable.
   */
  async function finished(imageId: string, { at, args }: Stage): Promise<string> {
    const { Config, Size } = await docker.getImage(at).inspect()
    const origin: ImageOrigin = {
      entrypoint: [Config?.Entrypoint ?? []].flat(),
      command: [Config?.Cmd ?? []].flat(),
      env: (Config?.Env ?? []).filter(entry => !args.has(entry.split('=', 1)[0] ?? '')),
      size_bytes: Size,
    }
    const name = `${buildMark.container(cloudId, imageId)}-${randomBytes(4).toString('hex')}`
    const container = await docker.createContainer({ name, Image: at, Cmd: ['true'] })
    try {
      const Labels = { ...Config?.Labels, [ORIGIN_LABEL]: JSON.stringify(origin) }
      return await commitAs(docker, container, { ...Config, Labels })
    } finally {
      await container.remove({ force: true, v: true })
    }
  }

  return {
    async build(what, signal) {
      if (!MACHINE_ID_PATTERN.test(what.image_id))
        throw new ComputeError('unsupported', `not an image id: ${what.image_id}`)
      try {
        return await build(what, signal)
      } catch (error) {
        if (error instanceof RecipeError) throw error
        throw toComputeError(error, `building the image ${what.image_id}`)
      }
    },
  }
}

function stageAt(stages: readonly Stage[], place: number): Stage {
  const stage = stages[place]
  if (!stage) throw new RecipeError('step_failed', `there is no stage ${place}`)
  return stage
}

function baseText(base: BuildStage['base']): string {
  if (base === 'scratch') return base
  return 'stage' in base ? `stage ${base.stage}` : base.reference
}

/** Names that an ENV gives values to. */
function namesOf(words: string): string[] {
  const pairs = [...words.matchAll(/(?:^|\s)([A-Za-z_]\w*)=/g)].map(([, name = '']) => name)
  return pairs.length > 0 ? pairs : [words.split(/\s/, 1)[0] ?? '']
}
