import { createHash } from 'node:crypto'
import type Docker from 'dockerode'
import type { Logger } from 'pino'
import type { Capability } from '../port/capability.ts'
import { CLOUD_LABEL, createNames } from './container-plan.ts'
import { orNull, statusCodeOf, translated } from './docker-errors.ts'
import { type CloudNetwork, ensureNetwork } from './docker-network.ts'
import { egressRules } from './egress-rules.ts'
import { ensureGuardImage, HOST_ROOT } from './guard-image.ts'
import { createGuardLine } from './guard-line.ts'
import { GUARD_SCRIPT } from './guard-script.ts'

/** What machines may reach besides the internet, and what is to be done where they cannot be kept from the rest. */
export interface EgressPolicy {
  /** Private addresses and networks that machines may reach all the same. */
  opened: readonly string[]
  /** Whether no machine starts where no filter holds. */
  required: boolean
}

/** Keeps machines from their engine's computer, from private networks and from metadata services. */
export interface EgressGuard {
  /** Sees to it that the filter holds. @throws ComputeError that says why it does not. */
  hold(): Promise<void>
  /** The same behind a caller who makes a machine that starts in a moment: that start then need not wait for it. */
  prepare(): void
  /** The same before a machine starts. @throws ComputeError where it must not start without. */
  admit(): Promise<void>
  /** The same behind the caller, who looks at the engine every few seconds; not more often than is of use. */
  lookAgain(): void
  /** What came of the last look. */
  state(): Capability
  /** Ends what is kept open; it is opened again when it is needed. */
  close(): void
}

/** What the guard runs as, as a digest: another one takes its place. */
const GUARD_LABEL = 'berth.guard'
const STATUS_CONFLICT = 409
/** The guard itself looks every few seconds; this is for the guard. */
const LOOK_PAUSE_MS = 60_000
/** A start takes a look that was begun this little before it, when its machine was made, for its own: the guard looks no oftener. */
const PREPARED_MS = 2_000
const MEMORY_BYTES_MAX = 128 * 1024 * 1024
const PROCESSES_MAX = 64

/** The networks of engines are the kernel's: only a process where the engine is can set rules for them. */
const RIGHTS = ['NET_ADMIN', 'NET_RAW']

/**
 * Makes the guard of a cloud's network: a container of our own on the engine, with the right to set its computer's
 * packet rules and no other. It keeps them in place, also while no gateway runs, and comes back with the daemon.
 */
export function createEgressGuard(deps: {
  docker: Docker
  cloudId: string
  policy: EgressPolicy
  /** What runs the guard, which works on its computer's own kernel; left out for the engine's own choice. */
  runtime: string | undefined
  log: Logger
}): EgressGuard {
  const { docker, cloudId, policy, log } = deps
  const { guard: name, guardImage } = createNames(cloudId)
  const line = createGuardLine(docker.getContainer(name))
  let holding: Promise<void> | null = null
  let prepared: { look: Promise<void>; sinceMs: number } | null = null
  let heldAtMs = Number.NEGATIVE_INFINITY
  let state: Capability = { enforced: false, why: 'It is not known yet what it reaches' }

  async function hold(): Promise<void> {
    const network = await ensureNetwork(docker, cloudId)
    await ensureGuardImage(docker, guardImage)
    const plan = planGuard(deps, network)
    const container = docker.getContainer(name)
    const found = await orNull(container.inspect())
    const isRight =
      found?.State.Running === true && found.Config.Labels[GUARD_LABEL] === plan.Labels?.[GUARD_LABEL]
    if (!isRight) await replace(container, plan)
    await line.ask()
  }

  async function replace(container: Docker.Container, plan: Docker.ContainerCreateOptions): Promise<void> {
    await orNull(container.remove({ force: true }))
    try {
      await docker.createContainer(plan)
    } catch (error) {
      // Another gateway of the same cloud was quicker.
      if (statusCodeOf(error) !== STATUS_CONFLICT) throw error
    }
    await container.start()
    log.info({ guard: name }, 'a guard keeps machines from private networks')
  }

  const guard: EgressGuard = {
    /** One look for all that ask meanwhile. */
    hold() {
      holding ??= translated('filtering what machines send', hold)
        .then(
          () => {
            state = { enforced: true, how: 'packet rules of Docker’s host, kept by a container of its own' }
          },
          error => {
            state = { enforced: false, why: `It may reach private networks of its host: ${error.message}` }
            throw error
          },
        )
        .finally(() => {
          holding = null
          heldAtMs = performance.now()
        })
      return holding
    },
    prepare() {
      const look = guard.hold()
      // What it fails with is met by the start.
      look.catch(() => undefined)
      prepared = { look, sinceMs: performance.now() }
    },
    async admit() {
      const isPrepared = prepared !== null && performance.now() - prepared.sinceMs < PREPARED_MS
      try {
        await (isPrepared ? prepared?.look : guard.hold())
      } catch (error) {
        if (policy.required) throw error
        log.warn({ err: error }, 'a machine starts that private networks are open to')
      }
    },
    lookAgain() {
      if (holding || performance.now() - heldAtMs < LOOK_PAUSE_MS) return
      guard.hold().catch(error => log.warn({ err: error }, 'what machines send is not filtered'))
    },
    state: () => state,
    close: line.close,
  }
  return guard
}

function planGuard(
  { cloudId, policy, runtime }: { cloudId: string; policy: EgressPolicy; runtime: string | undefined },
  network: CloudNetwork,
): Docker.ContainerCreateOptions {
  const { guard: name, guardImage } = createNames(cloudId)
  const { chain, ipv4, ipv6 } = egressRules(cloudId, policy.opened)
  const values = {
    CHAIN: chain,
    BRIDGE: network.bridge,
    IPV6: network.has_ipv6 ? 'yes' : 'no',
    HEAD_4: ipv4.head,
    TAIL_4: ipv4.tail,
    HEAD_6: ipv6.head,
    TAIL_6: ipv6.tail,
  }
  const plan: Docker.ContainerCreateOptions = {
    name,
    Image: `${guardImage.repo}:${guardImage.tag}`,
    Env: Object.entries(values).map(([key, value]) => `${key}=${value}`),
    Entrypoint: ['/bin/sh', '-c', GUARD_SCRIPT, 'guard', 'keep'],
    HostConfig: {
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      NetworkMode: 'host',
      // Rules belong to the engine's computer, whose users the machines' own are not.
      UsernsMode: 'host',
      CapDrop: ['ALL'],
      CapAdd: RIGHTS,
      // Without labels of SELinux it could not read the programs.
      SecurityOpt: ['no-new-privileges', 'label=disable'],
      Mounts: [{ Type: 'bind', Source: '/', Target: HOST_ROOT, ReadOnly: true }],
      Memory: MEMORY_BYTES_MAX,
      PidsLimit: PROCESSES_MAX,
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'always' },
    },
  }
  const digest = createHash('sha256').update(JSON.stringify(plan)).digest('hex')
  return { ...plan, Labels: { [CLOUD_LABEL]: cloudId, [GUARD_LABEL]: digest } }
}
