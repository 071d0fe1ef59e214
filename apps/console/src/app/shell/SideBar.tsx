import { ActionIcon } from '@mantine/core'
import { IconLayoutSidebarLeftCollapse, IconLayoutSidebarLeftExpand } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Brand, BrandMark } from '../../ui/Brand.tsx'
import { HOME_PATH } from '../session/redirect-target.ts'
import classes from './SideBar.module.css'
import { SideMenu } from './SideMenu.tsx'

const COLLAPSED_KEY = 'berth.drawer-collapsed'

/** The drawer of wide screens: 20rem, or 6.4rem collapsed; the choice is kept on this device (R2.12). */
export function SideBar({ brand }: { brand: string }) {
  const { t } = useTranslation('common')
  const [collapsed, setCollapsed] = useState(() => read() === 'yes')
  const toggle = () => {
    setCollapsed(!collapsed)
    write(collapsed ? 'no' : 'yes')
  }
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
          onClick={toggle}
          aria-expanded={!collapsed}
          aria-label={t(collapsed ? 'shell.expand' : 'shell.collapse')}
        >
          <Icon size={17} stroke={1.6} />
        </ActionIcon>
      </div>
    </nav>
  )
}

function read(): string | null {
  try {
    return localStorage.getItem(COLLAPSED_KEY)
  } catch {
    return null
  }
}

function write(value: 'yes' | 'no'): void {
  try {
    localStorage.setItem(COLLAPSED_KEY, value)
  } catch {
    // The choice then lasts as long as the page.
  }
}
