import {
  IconHistory,
  IconListSearch,
  IconMessages,
  IconMovie,
  IconPhoto,
  IconPhotoSearch,
} from '@tabler/icons-react'
import { Link, useLocation, useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { MODEL_PATHS, type ModelPath } from '../app/model-paths.ts'
import classes from './ModelsBar.module.css'

const ENTRIES = {
  '/model-endpoints': { word: 'catalogue', icon: IconListSearch },
  '/chat-model': { word: 'chat', icon: IconMessages },
  '/multi-modal': { word: 'multimodal', icon: IconPhotoSearch },
  '/image-model': { word: 'image', icon: IconPhoto },
  '/video-model': { word: 'video', icon: IconMovie },
  '/session-logs': { word: 'logs', icon: IconHistory },
} as const satisfies Record<ModelPath, { word: string; icon: typeof IconPhoto }>

interface ModelsBarProps {
  /** What can be done with the whole page, at the bar's end. */
  children?: ReactNode
}

/**
 * The bar under the header of every page about models, which is how they are reached: the drawer names the catalogue
 * alone. It stands first in its page, reaches its edges, and shows the pages that are built.
 */
export function ModelsBar({ children }: ModelsBarProps) {
  const { t } = useTranslation('models')
  const { pathname } = useLocation()
  // The table of routes itself loads this page, so it cannot be imported here.
  const { routesByPath } = useRouter()
  return (
    <div className={classes.bar}>
      <nav aria-label={t('bar.label')}>
        <ul className={classes.entries}>
          {MODEL_PATHS.filter(path => path in routesByPath).map(path => {
            const { word, icon: Icon } = ENTRIES[path]
            return (
              <li key={path}>
                <Link
                  to={path}
                  className={classes.entry}
                  aria-current={pathname === path ? 'page' : undefined}
                >
                  <Icon size={17} stroke={1.6} aria-hidden="true" className={classes.icon} />
                  {t(`bar.${word}`)}
                </Link>
              </li>
            )
          })}
        </ul>
      </nav>
      {children && <div className={classes.end}>{children}</div>}
    </div>
  )
}
