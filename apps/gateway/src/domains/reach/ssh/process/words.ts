import type { AddressInfo } from 'node:net'
import { ComputeError, type ComputeErrorCode } from '../../../../drivers/compute/port/compute-error.ts'
import { ApiError } from '../../../../platform/http/api-error.ts'
import type { StreamLimits } from '../../streams/stream-limits.ts'
import type { GatewaySide } from '../gateway-side.ts'
import type { SshLimits } from '../ssh-limits.ts'
import type { Changed, SshCount } from '../ssh-server.ts'

/** What the SSH server's process is started with: the first that it is told. */
export interface Orders {
  host: string
  port: number
  /** Private keys by which the server is known. */
  hostKeys: string[]
  limits: Partial<SshLimits>
  streams: Partial<StreamLimits>
}

/** What is held for the process until it gives it back, or ends; of a stream, what was read of it and not used. */
export interface Lease {
  lease: number
  rest: Uint8Array | null
}

/** Questions of the process; those for something that is held are answered with a lease, streams besides with a socket. */
export type Answers = Omit<GatewaySide, 'hold' | 'run' | 'connect'> & {
  [What in 'hold' | 'run' | 'connect']: (...asked: Parameters<GatewaySide[What]>) => Promise<Lease>
}
export type What = keyof Answers

/** What the process says. */
export type FromProcess =
  | { [Each in What]: { says: 'ask'; id: number; what: Each; asked: Parameters<Answers[Each]> } }[What]
  | { says: 'give_back'; lease: number }
  | { says: 'listening'; address: AddressInfo }
  | { says: 'deaf'; code: string; message: string }
  | { says: 'count'; count: SshCount }
  | { says: 'log'; level: 'debug' | 'warn'; about: Record<string, unknown>; text: string }

/** What the process is told. */
export type ToProcess =
  | { tells: 'orders'; orders: Orders }
  | { tells: 'answer'; id: number; value: unknown }
  | { tells: 'fault'; id: number; fault: Fault }
  | { tells: 'changed'; changed: Changed }
  | { tells: 'leave' }
  | { tells: 'stop' }

/** An error on its way to the other process. */
export interface Fault {
  kind: 'api' | 'compute' | 'other'
  code: string
  message: string
}

/** @returns What is left of an error that is told to the other process. */
export function faultOf(error: unknown): Fault {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ApiError) return { kind: 'api', code: error.code, message }
  if (error instanceof ComputeError) return { kind: 'compute', code: error.code, message }
  return { kind: 'other', code: '', message }
}

/** @returns An error as it was on the other side. */
export function errorOf({ kind, code, message }: Fault): Error {
  if (kind === 'api') return new ApiError(code as ApiError['code'])
  if (kind === 'compute') return new ComputeError(code as ComputeErrorCode, message)
  return new Error(message)
}
