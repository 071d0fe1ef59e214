import type { Duplex } from 'node:stream'
import type { Language } from '@berth/contract/limits'
import type { RunOptions } from '../../../drivers/compute/port/console.ts'
import type { GuestAccess } from '../../../drivers/compute/port/guest-access.ts'
import type { RateCount, RateRule } from '../../../platform/http/rate-counts.ts'
import type { Instances, Target } from '../../instances/instances.ts'
import type { SshKeys } from '../../ssh-keys/ssh-keys.ts'
import type { SshAttempt } from './attempts.ts'

/** Whose an instance is, and which of their keys may sign in: null for all. */
export type SshAccess = Pick<NonNullable<Awaited<ReturnType<Instances['accessOf']>>>, 'userId' | 'sshKeyIds'>

/** What the keys' domain says of one, or that it may not sign in to the instance any more. */
export type KeyFate = Awaited<ReturnType<SshKeys['fate']>> | 'not_chosen'

/** Whether a stored key of its customer's may sign in to an instance. */
export function letsKeyIn({ sshKeyIds }: Pick<SshAccess, 'sshKeyIds'>, keyId: string): boolean {
  return sshKeyIds === null || sshKeyIds.includes(keyId)
}

/** What the SSH server asks of its gateway, which is another process: it has neither the database nor engines. */
export interface GatewaySide {
  /** As `SshKeys` says. */
  holder: SshKeys['holder']
  /** What became of a key that somebody signed in with to an instance. */
  fate(userId: string, keyId: string, instanceId: string): Promise<KeyFate>
  /** Whether a security token signed that, and was touched: `isSignedBySecurityKey` of the keys' domain. */
  isSignedBySecurityKey(key: Buffer, data: Buffer, signature: Buffer): Promise<boolean>
  /** Whose instance that is, and which of their stored keys may sign in to it; null where there is none. */
  accessOf(instanceId: string): Promise<SshAccess | null>
  /** The language of a customer. */
  languageOf(userId: string): Promise<Language>
  /** Counts keys that were refused, over all gateways. */
  countRefusal(address: string, rule: RateRule): Promise<RateCount>
  /** As `SshAttempts` says. */
  note(name: string, attempt: SshAttempt): Promise<void>
  /** Whether a customer's own instance is there and runs. */
  isRunning(target: Target): Promise<boolean>
  /** Somebody is connected to an instance that was seen to be theirs. @returns To call at the end. */
  hold(instanceId: string): () => void
  /**
   * Runs a program in a customer's own instance: a line as `MachineWays.run` gives.
   * @throws ApiError `not_found` or `instance_not_running`; ComputeError as `MachineWays.run`.
   */
  run(target: Target, options: RunOptions): Promise<Duplex>
  /**
   * How to sign in to the SSH server of a customer's own virtual machine; null for an instance whose programs `run` runs.
   * @throws ApiError as `run`.
   */
  guestAccess(target: Target): Promise<GuestAccess | null>
  /** Opens a port of a customer's own instance. @throws As `run`, and as `MachineWays.connect`. */
  connect(target: Target, port: number): Promise<Duplex>
}

/** The log of the gateway: what something is about, with the error as `err`, and a sentence. */
export type SshLog = Record<'debug' | 'warn', (about: Record<string, unknown>, text: string) => void>
