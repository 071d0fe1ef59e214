import { localStorageColorSchemeManager } from '@mantine/core'
import { COLOR_SCHEME_KEY } from './color-scheme-key.ts'

/** Keeps the chosen theme on this device (R2.15). */
export const colorSchemeManager = localStorageColorSchemeManager({ key: COLOR_SCHEME_KEY })
