import { localStorageColorSchemeManager } from '@mantine/core'

/** Where the choice is kept; `public/first-paint.js` reads it before anything is drawn. */
export const COLOR_SCHEME_KEY = 'berth.color-scheme'

/** Keeps the chosen theme on this device (R2.15). */
export const colorSchemeManager = localStorageColorSchemeManager({ key: COLOR_SCHEME_KEY })
