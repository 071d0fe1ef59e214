/** Where the chosen theme is kept (R2.15); `public/first-paint.js` reads it before anything is drawn. */
export const COLOR_SCHEME_KEY = 'berth.color-scheme'
