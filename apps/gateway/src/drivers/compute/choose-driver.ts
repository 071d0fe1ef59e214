import type { Logger } from 'pino'
import { createDockerDriver } from './docker/docker-driver.ts'
import { probeDocker } from './docker/probe-docker.ts'
import type { ComputeDriver } from './port.ts'
import { probeSandbox } from './sandbox/probe-sandbox.ts'
import { createSandboxDriver } from './sandbox/sandbox-driver.ts'

export interface ComputeSettings {
  /** `auto` takes Docker where its socket answers, else the sandbox, else none. */
  kind: 'auto' | 'sandbox' | 'docker' | 'none'
  /** A folder for the sandbox alone. */
  dataDir: string
  /** Marks this gateway's containers on an engine that others may use too. `[a-z0-9-]`. */
  installationId: string
  /** Where Docker listens; without it the usual places are tried. */
  dockerSocketPath?: string
  log: Logger
}

export type ComputeChoice =
  | { driver: ComputeDriver }
  /** No machine can run here. Plain sentences for the operator, and for the answer to a deploy. */
  | { driver: null; why: string; how_to_get_it: string }

/**
 * Makes the driver that the settings ask for, or the best that this computer can run. Never throws for what
 * is missing: the gateway runs everything else without a driver.
 */
export async function chooseComputeDriver(settings: ComputeSettings): Promise<ComputeChoice> {
  switch (settings.kind) {
    case 'none':
      return {
        driver: null,
        why: 'machines are switched off in the settings',
        how_to_get_it: 'set the compute driver to auto, docker or sandbox',
      }
    case 'docker':
      return chooseDocker(settings)
    case 'sandbox':
      return chooseSandbox(settings)
    case 'auto': {
      const docker = await chooseDocker(settings)
      if (docker.driver) return docker
      const sandbox = await chooseSandbox(settings)
      if (sandbox.driver) {
        settings.log.info({ docker: docker.why }, 'no Docker here; machines run in sandboxes')
        return sandbox
      }
      return {
        driver: null,
        why: `${docker.why}; and no sandbox: ${sandbox.why}`,
        how_to_get_it: `${docker.how_to_get_it}; or ${sandbox.how_to_get_it}`,
      }
    }
  }
}

async function chooseDocker(settings: ComputeSettings): Promise<ComputeChoice> {
  const probe = await probeDocker(settings.dockerSocketPath)
  if (!probe.ok) return { driver: null, why: probe.why, how_to_get_it: probe.how_to_get_it }
  return orWhy('look at the Docker engine’s log', () =>
    createDockerDriver({
      socketPath: probe.socket_path,
      installationId: settings.installationId,
      log: settings.log,
    }),
  )
}

async function chooseSandbox(settings: ComputeSettings): Promise<ComputeChoice> {
  const probe = await probeSandbox()
  if (!probe.ok) return { driver: null, why: probe.why, how_to_get_it: probe.how_to_get_it }
  return orWhy('see that the data folder can be written to', () =>
    createSandboxDriver({ dataDir: settings.dataDir, log: settings.log }),
  )
}

async function orWhy(how_to_get_it: string, make: () => Promise<ComputeDriver>): Promise<ComputeChoice> {
  try {
    return { driver: await make() }
  } catch (error) {
    return { driver: null, why: (error as Error).message, how_to_get_it }
  }
}
