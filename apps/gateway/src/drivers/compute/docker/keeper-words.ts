import type { KubePlace } from '../kubernetes/kube-link.ts'
import type { SessionRequest } from '../sessions/frames.ts'
import type { DockerPlace } from './docker-link.ts'

/** The socket's name in a keeper's folder. */
export const KEEPER_SOCKET = 'keeper.sock'

/** The log's name there: of the last keeper that was started. */
export const KEEPER_LOG = 'keeper.log'

/** Raised when the words between a gateway and a keeper change: then each version has a keeper of its own. */
export const KEEPER_PROTOCOL = 1

/** Where the machines are whose terminals are kept: on a Docker Engine, or in a cluster. */
export type KeptPlace = DockerPlace | { kind: 'kubernetes'; cluster: KubePlace }

/** What a keeper is told at start, on its standard input. */
export interface KeeperPlan {
  /** Where its socket is to be. */
  folder: string
  /** Where the engine is, keys included: so it is never an argument, which others could read. */
  place: KeptPlace
  /** How long it waits, holding nothing, for somebody to come again. */
  linger_ms: number
}

/** What is asked of a keeper: `machine` is the container's name, or a pod's with its namespace and a dot before it. */
export type KeeperRequest = SessionRequest & { machine: string }
