import { Link, useLocation } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { pageTitle } from '../page-title.ts'
import { MENU, type MenuGroup } from './menu.ts'
import classes from './SideMenu.module.css'

interface SideMenuProps {
  collapsed: boolean
  /** Called when an entry is followed, to close the drawer of a narrow screen. */
  onFollow?: () => void
}

/** Groups whose headings are only said. */
const PLACES: Partial<Record<MenuGroup['heading'], string | undefined>> = {
  discover: classes.first,
  account: classes.foot,
}

/** The console's pages, by group (R2.12); stands in a `nav`. */
export function SideMenu({ collapsed, onFollow }: SideMenuProps) {
  const { t } = useTranslation('common')
  const { pathname } = useLocation()
  return (
    <div className={classes.menu} data-collapsed={collapsed || undefined}>
      {MENU.map(group => (
        <section
          key={group.heading}
          className={PLACES[group.heading]}
          aria-label={t(`shell.group.${group.heading}`)}
        >
          <h2 className={classes.heading}>{t(`shell.group.${group.heading}`)}</h2>
          <ul>
            {group.entries.map(({ path, icon: Icon, holds }) => (
              <li key={path}>
                <Link
                  to={path}
                  className={classes.entry}
                  title={collapsed ? pageTitle(path, t) : undefined}
                  aria-current={pathname === path ? 'page' : holds?.includes(pathname) || undefined}
                  onClick={() => onFollow?.()}
                >
                  <Icon size={17} stroke={1.6} aria-hidden="true" className={classes.icon} />
                  <span className={classes.word}>{pageTitle(path, t)}</span>
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}
