package live
