import {
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  type VariantColorsResolver,
} from '@mantine/core'

// Mantine asks for ten shades of a colour; ours has one for each theme, which the token picks.
const shades = (token: string): MantineColorsTuple => {
  const value = `var(${token})`
  return [value, value, value, value, value, value, value, value, value, value]
}

/** Filled parts take the text colour that was chosen for their ground, which in the dark theme is not white. */
const variantColors: VariantColorsResolver = input => {
  const colors = defaultVariantColorsResolver(input)
  if (input.variant === 'subtle') {
    const color = input.color === 'bad' ? 'var(--bad)' : 'var(--dim)'
    return {
      ...colors,
      hover: 'var(--hover)',
      color,
      hoverColor: input.color === 'bad' ? color : 'var(--text)',
    }
  }
  if (input.variant !== 'filled') return colors
  return { ...colors, color: input.color === 'bad' ? 'var(--on-bad)' : 'var(--on-accent)' }
}

const TRANSITION = { duration: 120, timingFunction: 'cubic-bezier(0.2, 0, 0, 1)' } as const

/** The Mantine theme. Its CSS variables stand in `mantine-tokens.css`, so that no style element is made. */
export const mantineTheme = createTheme({
  // 1rem is 10px here, and Mantine counts in rems of 16px.
  scale: 1.6,
  primaryColor: 'accent',
  primaryShade: 6,
  colors: { accent: shades('--accent'), bad: shades('--bad') },
  variantColorResolver: variantColors,
  fontFamily: 'var(--font-sans)',
  fontFamilyMonospace: 'var(--font-mono)',
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  activeClassName: '',
  components: {
    Button: { defaultProps: { size: 'sm' } },
    ActionIcon: { defaultProps: { size: 'md', variant: 'subtle' } },
    Input: { defaultProps: { size: 'sm' } },
    Checkbox: { defaultProps: { size: 'xs' } },
    InputWrapper: { defaultProps: { inputWrapperOrder: ['label', 'input', 'description', 'error'] } },
    Menu: {
      // The placeholder is a focusable thing that is no item, which a menu must not hold.
      defaultProps: { transitionProps: TRANSITION, shadow: 'none', withInitialFocusPlaceholder: false },
    },
    Popover: { defaultProps: { transitionProps: TRANSITION, shadow: 'none' } },
    Tooltip: { defaultProps: { transitionProps: TRANSITION, multiline: true, openDelay: 200 } },
    // The page is held still by base.css: the default way would add a style element at run time.
    Modal: {
      defaultProps: {
        centered: true,
        lockScroll: false,
        transitionProps: { ...TRANSITION, transition: 'fade' },
        shadow: 'none',
      },
    },
    // A dialog that is put together of its parts.
    ModalRoot: { defaultProps: { lockScroll: false } },
    Drawer: { defaultProps: { lockScroll: false, transitionProps: TRANSITION, shadow: 'none' } },
  },
})
