import type { Logger } from 'pino'
import type { EgressPolicy } from './docker/egress-guard.ts'
import { probeDocker } from './docker/probe-docker.ts'
import type { Engine } from './port/engine.ts'
import type { ImageRecipe } from './port/images.ts'
import { probeSandbox } from './sandbox/probe-sandbox.ts'
import { createSandboxEngine } from './sandbox/sandbox-engine.ts'

export interface ComputeSettings {
  /** `auto` takes Docker where its socket answers, else the sandbox, else none. */
  kind: 'auto' | 'sandbox' | 'docker' | 'none'
  /** A folder for the sandbox alone. */
  dataDir: string
  /** Images that the catalogue offers; where an engine fetches them itself, it goes by that for how long they stay. */
  offered?: readonly ImageRecipe[]
  /** Marks this gateway's containers on an engine that others may use too. `[a-z0-9-]`. */
  cloudId: string
  /** Where Docker listens; without it the usual places are tried. */
  dockerSocketPath?: string
  /** What machines that have a network may reach; null leaves it open. */
  egress: EgressPolicy | null
  log: Logger
}

export type ComputeChoice =
  | { engine: Engine }
  /** No machine can run here. Plain sentences for the operator. */
  | { engine: null; why: string; how_to_get_it: string }

/**
 * Makes the driver that the settings ask for, or the best that this computer can run. Never throws for what
 * is missing: the gateway runs everything else without a driver.
 */
export async function chooseEngine(settings: ComputeSettings): Promise<ComputeChoice> {
  switch (settings.kind) {
    case 'none':
      return {
        engine: null,
        why: 'machines are switched off in the settings',
        how_to_get_it: 'set the compute driver to auto, docker or sandbox',
      }
    case 'docker':
      return chooseDocker(settings)
    case 'sandbox':
      return chooseSandbox(settings)
    case 'auto': {
      const docker = await chooseDocker(settings)
      if (docker.engine) return docker
      const sandbox = await chooseSandbox(settings)
      if (sandbox.engine) {
        settings.log.info({ docker: docker.why }, 'no Docker here; machines run in sandboxes')
        return sandbox
      }
      return {
        engine: null,
        why: `${docker.why}; and no sandbox: ${sandbox.why}`,
        how_to_get_it: `${docker.how_to_get_it}; or ${sandbox.how_to_get_it}`,
      }
    }
  }
}

async function chooseDocker(settings: ComputeSettings): Promise<ComputeChoice> {
  const probe = await probeDocker(settings.dockerSocketPath)
  if (!probe.ok) return { engine: null, why: probe.why, how_to_get_it: probe.how_to_get_it }
  return orWhy('look at the Docker engine’s log', async () => {
    // What speaks to Docker is a fifth of all that a start loads: only where there is one.
    const { createDockerEngine } = await import('./docker/docker-engine.ts')
    return await createDockerEngine({
      place: { kind: 'unix', socket_path: probe.socket_path },
      cloudId: settings.cloudId,
      egress: settings.egress,
      log: settings.log,
    })
  })
}

async function chooseSandbox(settings: ComputeSettings): Promise<ComputeChoice> {
  const probe = await probeSandbox()
  if (!probe.ok) return { engine: null, why: probe.why, how_to_get_it: probe.how_to_get_it }
  return orWhy('see that the data folder can be written to', () =>
    createSandboxEngine({
      dataDir: settings.dataDir,
      outbound: { opened: settings.egress?.opened ?? [] },
      ...(settings.offered && { offered: settings.offered }),
      log: settings.log,
    }),
  )
}

async function orWhy(how_to_get_it: string, make: () => Promise<Engine>): Promise<ComputeChoice> {
  try {
    return { engine: await make() }
  } catch (error) {
    return { engine: null, why: (error as Error).message, how_to_get_it }
  }
}
