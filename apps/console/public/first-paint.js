// Runs before the first paint, so that a stored theme and language never flash as the default ones.
// The keys are those of src/app/theme/color-scheme.ts and src/app/i18n.ts; a test holds them together.
;(() => {
  let scheme = null
  let language = null
  try {
    scheme = localStorage.getItem('berth.color-scheme')
    language = localStorage.getItem('berth.language')
  } catch {
    // Storage can be switched off; the defaults then apply.
  }
  if (scheme !== 'light' && scheme !== 'dark') {
    scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  }
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme)
  if (language === 'zh' || language === 'ja' || language === 'ko') document.documentElement.lang = language
})()
