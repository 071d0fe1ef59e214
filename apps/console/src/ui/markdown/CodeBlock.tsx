import { type ComponentProps, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { CopyButton } from '../CopyText.tsx'
import classes from './Markdown.module.css'

/** A block of code, with a button that copies it. Long lines scroll within it, by keyboard too. */
export function CodeBlock({ children }: ComponentProps<'pre'>) {
  const { t } = useTranslation('common')
  const block = useRef<HTMLPreElement>(null)
  return (
    <div className={classes.code}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre ref={block} tabIndex={0}>
        {children}
      </pre>
      <span className={classes.copy}>
        <CopyButton textOf={() => block.current?.textContent ?? ''} label={t('markdown.code')} />
      </span>
    </div>
  )
}
