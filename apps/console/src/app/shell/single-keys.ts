import { keep, readKept } from '../device-storage.ts'

const SINGLE_KEYS = 'berth.single-key-shortcuts'

/** Whether shortcuts of single characters are on (WCAG 2.1.4); the choice is kept on this device. */
export function areSingleKeysOn(): boolean {
  return readKept(SINGLE_KEYS) !== 'off'
}

/**
 * Switches shortcuts of single characters on or off.
 * @param on What was chosen.
 */
export function switchSingleKeys(on: boolean): void {
  keep(SINGLE_KEYS, on ? null : 'off')
}
