import { ActionIcon } from '@mantine/core'
import { IconLayoutSidebarLeftCollapse, IconLayoutSidebarLeftExpand } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { Brand, BrandMark } from '../../ui/Brand.tsx'
import { HOME_PATH } from '../session/redirect-target.ts'
import classes from './SideBar.module.css'
import { SideMenu } from './SideMenu.tsx'

interface SideBarProps {
  brand: string
  collapsed: boolean
  onToggle: () => void
}

/** The drawer of wide screens: 20rem, or 6.4rem collapsed (R2.12). */
export function SideBar({ brand, collapsed, onToggle }: SideBarProps) {
  const { t } = useTranslation('common')
  const Icon = collapsed ? IconLayoutSidebarLeftExpand : IconLayoutSidebarLeftCollapse
  return (
    <nav aria-label={t('shell.menu')} className={classes.bar} data-collapsed={collapsed || undefined}>
      <Link to={HOME_PATH} className={classes.brand} aria-label={brand}>
        {collapsed ? <BrandMark /> : <Brand name={brand} />}
      </Link>
      <div className={classes.menu}>
        <SideMenu collapsed={collapsed} />
      </div>
      <div className={classes.foot}>
        <ActionIcon
          color="gray"
          className={classes.toggle}
          onClick={onToggle}
          aria-expanded={!collapsed}
          aria-keyshortcuts="["
          aria-label={t(collapsed ? 'shell.expand' : 'shell.collapse')}
        >
          <Icon size={17} stroke={1.6} />
        </ActionIcon>
      </div>
    </nav>
  )
}
