import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Brand } from '../../ui/Brand.tsx'
import { pageTitle } from '../page-title.ts'
import { useDocumentTitle } from '../use-document-title.ts'
import classes from './GuestCard.module.css'
import { GuestFoot } from './GuestFoot.tsx'
import { useGuestSettings } from './settings.ts'

interface GuestCardProps {
  path: string
  title: string
  children: ReactNode
  /** For lists; the default width suits a sentence and a button. */
  wide?: boolean
}

/** The frame of a small page outside the shell: brand, title, content, and the foot. */
export function GuestCard({ path, title, children, wide = false }: GuestCardProps) {
  const { t } = useTranslation('common')
  const settings = useGuestSettings()
  const brand = settings?.brand.name ?? t('brand')
  useDocumentTitle(pageTitle(path, t), brand)
  return (
    <div className={classes.frame} data-wide={wide || undefined}>
      <main className={classes.column}>
        <Brand name={brand} large />
        <h1 className={classes.title}>{title}</h1>
        {children}
      </main>
      <footer className={classes.column}>
        <GuestFoot brand={settings?.brand} />
      </footer>
    </div>
  )
}
